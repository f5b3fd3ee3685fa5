"""What an encoder is measured on: sentence similarity, word prediction, transfer, neighbours, isotropy."""
