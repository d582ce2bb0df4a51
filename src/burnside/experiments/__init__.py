"""The experiments, one folder each: ``config`` (what is run), ``run`` (resumable), ``analysis`` (what it shows).

An experiment may import every layer below; experiments do not import each other, and the report draws what they return.
"""
