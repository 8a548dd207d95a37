"""Trains the shipped stance model: does a passage entail, contradict or leave open a claim?"""
