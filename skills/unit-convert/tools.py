"""Exact unit conversion: a table of units, their spellings, and arithmetic in fractions."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from fractions import Fraction
from typing import Any

from agrun_wasm import skill_tool


@dataclass(frozen=True)
class Unit:
    """`value * factor + offset` is the value in the quantity's base unit. Letter case counts in `symbols` only."""

    quantity: str
    name: str
    plural: str
    factor: Fraction
    offset: Fraction
    symbols: tuple[str, ...]
    names: tuple[str, ...]


def unit(
    quantity: str,
    name: str,
    factor: str | Fraction,
    symbols: str = "",
    names: str = "",
    plural: str = "",
    offset: str | Fraction = "0",
) -> Unit:
    """A unit from short texts; symbols are apart by blanks, names by commas."""
    return Unit(
        quantity=quantity,
        name=name,
        plural=plural or f"{name}s",
        factor=Fraction(factor),
        offset=Fraction(offset),
        symbols=tuple(symbols.split()),
        names=tuple(part.strip() for part in names.split(",") if part.strip()),
    )


def prefixed(quantity: str, name: str, symbol: str, prefixes: str, base: str = "1", american: str = "") -> list[Unit]:
    """The unit under each prefix; `american` is its other spelling."""
    units = []
    for prefix in prefixes.split():
        short, factor = PREFIXES[prefix]
        other = f"{prefix}{american}, {prefix}{american}s" if american else ""
        units.append(unit(quantity, f"{prefix}{name}", Fraction(factor) * Fraction(base), f"{short}{symbol}", other))
    return units


PREFIXES = {
    "nano": ("n", "1/1000000000"),
    "micro": ("µ", "1/1000000"),
    "milli": ("m", "1/1000"),
    "centi": ("c", "1/100"),
    "deci": ("d", "1/10"),
    "deca": ("da", "10"),
    "hecto": ("h", "100"),
    "kilo": ("k", "1000"),
    "mega": ("M", "1000000"),
    "giga": ("G", "1000000000"),
    "tera": ("T", "1000000000000"),
    "peta": ("P", "1000000000000000"),
    "kibi": ("Ki", str(2**10)),
    "mebi": ("Mi", str(2**20)),
    "gibi": ("Gi", str(2**30)),
    "tebi": ("Ti", str(2**40)),
    "pebi": ("Pi", str(2**50)),
}

FOOT, INCH, YARD, MILE = "0.3048", "0.0254", "0.9144", "1609.344"
POUND, US_GALLON, IMPERIAL_GALLON = "0.45359237", "0.003785411784", "0.00454609"


def squared(factor: str) -> Fraction:
    return Fraction(factor) ** 2


def share(factor: str, parts: int) -> Fraction:
    return Fraction(factor) / parts


UNITS = [
    # length, base metre
    unit("length", "metre", "1", "m", "meter, meters, mtr"),
    *prefixed("length", "metre", "m", "nano micro milli centi deci hecto kilo mega giga", american="meter"),
    unit("length", "inch", INCH, "in ″", plural="inches"),
    unit("length", "foot", FOOT, "ft ′", plural="feet"),
    unit("length", "yard", YARD, "yd yds"),
    unit("length", "mile", MILE, "mi", "statute mile, statute miles"),
    unit("length", "nautical mile", "1852", "nmi NM", "sea mile, sea miles"),
    unit("length", "furlong", "201.168", "fur"),
    unit("length", "fathom", "1.8288", "ftm"),
    unit("length", "astronomical unit", "149597870700", "au AU"),
    unit("length", "light-year", "9460730472580800", "ly", "light year, light years, lightyear, lightyears"),
    # mass, base kilogram
    unit("mass", "gram", "0.001", "g", "gramme, grammes"),
    *prefixed("mass", "gram", "g", "micro milli centi hecto kilo mega", base="0.001", american="gramme"),
    unit("mass", "tonne", "1000", "t", "metric ton, metric tons"),
    unit("mass", "pound", POUND, "lb lbs", "avoirdupois pound"),
    unit("mass", "ounce", share(POUND, 16), "oz"),
    unit("mass", "stone", Fraction(POUND) * 14, "st", plural="stone", names="stones"),
    unit("mass", "short ton", Fraction(POUND) * 2000, "", "ton, tons, us ton, us tons"),
    unit("mass", "long ton", Fraction(POUND) * 2240, "", "imperial ton, imperial tons"),
    unit("mass", "carat", "0.0002", "ct"),
    unit("mass", "grain", share(POUND, 7000), "gr"),
    # temperature, base kelvin
    unit("temperature", "kelvin", "1", "K"),
    unit("temperature", "degree Celsius", "1", "C °C ℃", "celsius, centigrade", "degrees Celsius", "273.15"),
    unit(
        "temperature",
        "degree Fahrenheit",
        "5/9",
        "F °F ℉",
        "fahrenheit",
        "degrees Fahrenheit",
        str(Fraction("459.67") * Fraction(5, 9)),
    ),
    unit("temperature", "degree Rankine", "5/9", "R °R", "rankine", "degrees Rankine"),
    # volume, base cubic metre
    unit("volume", "litre", "0.001", "l L", "liter, liters"),
    *prefixed("volume", "litre", "l", "micro milli centi deci hecto", base="0.001", american="liter"),
    unit("volume", "cubic metre", "1", "m3 m³", "cubic meter, cubic meters, cbm"),
    unit("volume", "cubic centimetre", "0.000001", "cm3 cm³ cc", "cubic centimeter, cubic centimeters"),
    unit("volume", "cubic inch", Fraction(INCH) ** 3, "in3 in³ cuin", plural="cubic inches"),
    unit("volume", "cubic foot", Fraction(FOOT) ** 3, "ft3 ft³ cuft", plural="cubic feet"),
    unit("volume", "cubic yard", Fraction(YARD) ** 3, "yd3 yd³"),
    unit("volume", "US gallon", US_GALLON, "gal", "gallon, gallons"),
    unit("volume", "US quart", share(US_GALLON, 4), "qt", "quart, quarts"),
    unit("volume", "US pint", share(US_GALLON, 8), "pt", "pint, pints"),
    unit("volume", "US cup", share(US_GALLON, 16), "", "cup, cups"),
    unit("volume", "US fluid ounce", share(US_GALLON, 128), "floz", "fluid ounce, fluid ounces, fl oz, us fl oz"),
    unit("volume", "US tablespoon", share(US_GALLON, 256), "tbsp", "tablespoon, tablespoons"),
    unit("volume", "US teaspoon", share(US_GALLON, 768), "tsp", "teaspoon, teaspoons"),
    unit("volume", "imperial gallon", IMPERIAL_GALLON, "", "uk gallon, uk gallons"),
    unit("volume", "imperial pint", share(IMPERIAL_GALLON, 8), "", "uk pint, uk pints"),
    unit("volume", "imperial fluid ounce", share(IMPERIAL_GALLON, 160), "", "uk fluid ounce, uk fluid ounces"),
    unit("volume", "oil barrel", Fraction(US_GALLON) * 42, "bbl", "barrel, barrels"),
    # area, base square metre
    unit("area", "square metre", "1", "m2 m² sqm", "square meter, square meters, sq m"),
    unit("area", "square millimetre", "0.000001", "mm2 mm²", "square millimeter, square millimeters, sq mm"),
    unit("area", "square centimetre", "0.0001", "cm2 cm²", "square centimeter, square centimeters, sq cm"),
    unit("area", "square kilometre", "1000000", "km2 km²", "square kilometer, square kilometers, sq km"),
    unit("area", "hectare", "10000", "ha"),
    unit("area", "square inch", squared(INCH), "in2 in² sqin", "sq in", "square inches"),
    unit("area", "square foot", squared(FOOT), "ft2 ft² sqft", "sq ft, sq feet", "square feet"),
    unit("area", "square yard", squared(YARD), "yd2 yd² sqyd", "sq yd"),
    unit("area", "square mile", squared(MILE), "mi2 mi² sqmi", "sq mi"),
    unit("area", "acre", "4046.8564224", "ac"),
    # speed, base metre per second
    unit("speed", "metre per second", "1", "m/s mps", "meter per second, meters per second", "metres per second"),
    unit(
        "speed",
        "kilometre per hour",
        "1000/3600",
        "km/h kph kmh",
        "kilometer per hour, kilometers per hour, km per hour",
        "kilometres per hour",
    ),
    unit("speed", "mile per hour", Fraction(MILE) / 3600, "mph mi/h", "", "miles per hour"),
    unit("speed", "foot per second", FOOT, "ft/s fps", "", "feet per second"),
    unit("speed", "knot", "1852/3600", "kn kt", "kts"),
    # time, base second
    unit("time", "second", "1", "s sec", "secs"),
    *prefixed("time", "second", "s", "nano micro milli"),
    unit("time", "minute", "60", "min", "mins"),
    unit("time", "hour", "3600", "h hr", "hrs"),
    unit("time", "day", "86400", "d"),
    unit("time", "week", "604800", "wk", "wks"),
    unit("time", "fortnight", "1209600"),
    unit("time", "month", "2629800", "mo", "average month, average months"),
    unit("time", "year", "31557600", "yr", "yrs, julian year, julian years"),
    unit("time", "decade", "315576000"),
    unit("time", "century", "3155760000", plural="centuries"),
    # data, base bit
    unit("data", "byte", "8", "B"),
    *prefixed("data", "byte", "B", "kilo mega giga tera peta kibi mebi gibi tebi pebi", base="8"),
    unit("data", "bit", "1", "bit b"),
    *prefixed("data", "bit", "bit", "kilo mega giga tera kibi mebi gibi tebi"),
]

#: what people write beside names and symbols
SPELLINGS = {
    "KB": "kilobyte",
    "Kb": "kilobit",
    "Mb": "megabit",
    "Gb": "gigabit",
    "Tb": "terabit",
    "mL": "millilitre",
    "dL": "decilitre",
    "um": "micrometre",
    "ug": "microgram",
    "mcg": "microgram",
    "us": "microsecond",
    "kilo": "kilogram",
    "kilos": "kilogram",
    "kgs": "kilogram",
}

QUANTITIES = tuple(dict.fromkeys(u.quantity for u in UNITS))

SYMBOLS: dict[str, Unit] = {}
NAMES: dict[str, Unit] = {}
for _unit in UNITS:
    for _symbol in _unit.symbols:
        SYMBOLS.setdefault(_symbol, _unit)
    for _name in (_unit.name, _unit.plural, *_unit.names, *_unit.symbols):
        NAMES.setdefault(_name.casefold(), _unit)
for _spelled, _name in SPELLINGS.items():
    SYMBOLS.setdefault(_spelled, NAMES[_name])
    NAMES.setdefault(_spelled.casefold(), NAMES[_name])


def find_unit(spelled: str) -> Unit | None:
    """A unit by symbol (letter case counts first), name, plural or other spelling."""
    text = " ".join(spelled.replace("μ", "µ").replace("^", "").split()).strip(" .,;:?!")
    if text in SYMBOLS:
        return SYMBOLS[text]
    folded = text.casefold()
    for form in (folded, folded.replace("degrees ", "").replace("degree ", "").replace("deg ", "").replace("°", "")):
        for candidate in (form, form.replace(".", ""), form.removesuffix("s"), form.replace("-", " ")):
            if candidate in NAMES:
                return NAMES[candidate]
    return None


def unknown_unit(spelled: str, quantity: str | None) -> dict[str, Any]:
    names = [u.plural for u in UNITS if quantity in (None, u.quantity)]
    close = get_close_matches(spelled.casefold(), names, n=3, cutoff=0.6)
    hint = f"; did you mean {' or '.join(close)}?" if close else ""
    return {"ok": False, "error": f"unknown unit {spelled!r}{hint}", "known": names}


def number_text(value: Fraction) -> str:
    """Whole numbers in full, others to six significant digits."""
    if value.denominator == 1 and abs(value) < 10**15:
        return str(value.numerator)
    size = abs(value)
    if Fraction(1, 10**4) <= size < 10**15:
        whole_digits = len(str(int(size))) if size >= 1 else 0
        text = f"{float(value):.{max(2, 6 - whole_digits)}f}" if size >= 1 else f"{float(value):.6g}"
        return text.rstrip("0").rstrip(".") if "." in text else text
    mantissa, _, exponent = f"{float(value):.6g}".partition("e")
    return f"{mantissa}e{int(exponent)}" if exponent else mantissa


def plain(value: Fraction) -> int | float:
    return value.numerator if value.denominator == 1 and abs(value) < 2**53 else float(value)


@skill_tool(
    description="Convert a value from one unit to another unit of the same quantity, exactly.",
    parameters={
        "type": "object",
        "properties": {
            "value": {
                "type": "number",
                "description": "The number to convert.",
                "aliases": ["amount", "number", "quantity"],
            },
            "from_unit": {
                "type": "string",
                "description": "The unit of the value: a name, a plural or a symbol.",
                "examples": ["miles", "kg", "fahrenheit", "gallons", "acres", "km/h", "hours", "MiB"],
                "aliases": ["from", "fromUnit", "source_unit", "unit"],
            },
            "to_unit": {
                "type": "string",
                "description": "The unit to convert to.",
                "examples": ["kilometres", "pounds", "celsius", "litres", "hectares", "mph", "seconds", "megabytes"],
                "aliases": ["to", "toUnit", "target_unit", "target"],
            },
            "decimals": {"type": "integer", "description": "Round to that many decimal places, 0 to 12."},
        },
        "required": ["value", "from_unit", "to_unit"],
    },
)
def convert_units(value: float, from_unit: str, to_unit: str, decimals: int | None = None) -> dict[str, Any]:
    source, target = find_unit(from_unit), find_unit(to_unit)
    if source is None:
        return unknown_unit(from_unit, target.quantity if target else None)
    if target is None:
        return unknown_unit(to_unit, source.quantity)
    if source.quantity != target.quantity:
        return {
            "ok": False,
            "error": f"{source.plural} measure {source.quantity}, {target.plural} measure {target.quantity}",
            "known": [u.plural for u in UNITS if u.quantity == source.quantity],
        }
    if decimals is not None and not 0 <= decimals <= 12:
        return {"ok": False, "error": "decimals must be between 0 and 12", "known": list(range(13))}
    exact = Fraction(str(value))
    base = exact * source.factor + source.offset
    if source.quantity == "temperature" and base < 0:
        return {"ok": False, "error": f"{number_text(exact)} {source.plural} lie below absolute zero", "known": []}
    result = (base - target.offset) / target.factor
    if decimals is not None:
        result = Fraction(round(result * 10 ** int(decimals)), 10 ** int(decimals))
    left = f"{number_text(exact)} {source.name if abs(exact) == 1 else source.plural}"
    shown = number_text(result) if decimals is None else f"{float(result):.{int(decimals)}f}"
    right = f"{shown} {target.name if abs(result) == 1 else target.plural}"
    return {
        "ok": True,
        "quantity": source.quantity,
        "value": plain(result),
        "from": source.name,
        "to": target.name,
        "text": f"{left} = {right}",
    }


@skill_tool(
    description="List the units that can be converted, of one quantity or of all.",
    parameters={
        "type": "object",
        "properties": {
            "quantity": {"type": "string", "enum": list(QUANTITIES), "description": "Which units; all if left out."}
        },
    },
    result_kind="lookup",
)
def list_units(quantity: str | None = None) -> dict[str, Any]:
    units = {
        each: [{"name": u.name, "symbols": list(u.symbols)} for u in UNITS if u.quantity == each]
        for each in QUANTITIES
        if quantity in (None, each)
    }
    names = "; ".join(f"{each}: {', '.join(u['name'] for u in listed)}" for each, listed in units.items())
    return {"ok": True, "units": units, "text": names}
