import sys
from datetime import datetime


def part_of_day(hour):
    if hour < 5:
        return "night"
    if hour < 12:
        return "morning"
    if hour < 18:
        return "afternoon"
    return "evening"


def greeting(name, hour, shout=False):
    text = f"Good {part_of_day(hour)}, {name}!"
    if shout:
        text = text.upper()
    return text


names = [argument for argument in sys.argv[1:] if argument != "--shout"]
shout = "--shout" in sys.argv
for name in names or ["world"]:
    print(greeting(name, datetime.now().hour, shout))
