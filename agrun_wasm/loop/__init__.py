"""The loop: observe, orient, decide, act, evaluate over one run state; plans, synthesis, and the one door out."""
