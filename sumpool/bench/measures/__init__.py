"""What is measured with: seconds, bytes, operations and calls, the machine's rates, and fits through them."""
