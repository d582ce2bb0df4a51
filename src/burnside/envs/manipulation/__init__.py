"""Robot manipulation on robosuite: stack-three and nut assembly (App. C).

Filled in below."""
