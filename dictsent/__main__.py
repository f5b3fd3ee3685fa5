"""`python -m dictsent`: what torchrun and accelerate launch."""

from dictsent.cli import main

main()
