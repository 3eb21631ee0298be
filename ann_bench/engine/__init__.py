"""The container engine of this machine: reaching it, making the entries' images, clearing up after us.

`client.connect` finds the engine, `images.Images` finds and builds what entries run in, `sweep` removes what dead
judges have left. What happens inside a container is no matter of this room.
"""
