// The network's colour, made readable: from one colour the four that the pages use, each for the light and the dark theme.
// Text has a contrast of 4.5 to whatever it stands on, and what is filled one of 3 (WCAG 2.2, 1.4.3 and 1.4.11).

import { type Result, refuse, succeed } from "./fault.ts";

/** Six hex digits behind a number sign, in small letters. */
export type Colour = string;

/** What the style sheet's variables of these names become. */
export interface Theme {
	/** Buttons, and the mark beside the name. */
	accent: ThemeColour;
	/** The same under the pointer. */
	accentHover: ThemeColour;
	/** Text on either. */
	accentInk: ThemeColour;
	/** Behind what is chosen. */
	accentSoft: ThemeColour;
	/** Links. */
	accentText: ThemeColour;
}

export interface ThemeColour {
	light: Colour;
	dark: Colour;
}

/** Whatever links and buttons stand on: the style sheet's grounds, of which a test makes sure. */
export const GROUNDS: Readonly<Record<keyof ThemeColour, readonly Colour[]>> = {
	light: ["#f6f7f9", "#ffffff", "#eef0f4", "#e1f4e9", "#fdf0dc", "#fce8e6", "#e3f0fb"],
	dark: ["#0e1116", "#151a21", "#1a2029", "#1e242e", "#12301f", "#36260c", "#3d1715", "#112c43"],
};

const TEXT_CONTRAST = 4.5;
const SHAPE_CONTRAST = 3;
/** How much of the colour is in what stands behind text. */
const SOFT_SHARE: Readonly<Record<keyof ThemeColour, number>> = { light: 0.1, dark: 0.22 };
/** How much of black or white is in a button under the pointer. */
const HOVER_SHARE = 0.12;
const WHITE = "#ffffff";
const BLACK = "#000000";
const STEPS = 100;

/** Null for an empty field: the colour that Ringback comes with. */
export function parseColour(text: string): Result<Colour | null> {
	const typed = text.trim().toLowerCase();
	if (typed === "") return succeed(null);
	const [, digits = ""] = /^#?([\da-f]{6}|[\da-f]{3})$/.exec(typed) ?? [];
	if (digits === "") {
		return refuse(
			"invalid_colour",
			`"${text}" is not a colour. Enter six hex digits, such as #3b4fd8.`,
			"colour",
		);
	}
	return succeed(`#${digits.length === 3 ? digits.replace(/./g, "$&$&") : digits}`);
}

export function makeTheme(colour: Colour): Theme {
	const light = makeHalf(colour, "light");
	const dark = makeHalf(colour, "dark");
	return {
		accent: { light: light.accent, dark: dark.accent },
		accentHover: { light: light.hover, dark: dark.hover },
		accentInk: { light: light.ink, dark: dark.ink },
		accentSoft: { light: light.soft, dark: dark.soft },
		accentText: { light: light.text, dark: dark.text },
	};
}

function makeHalf(
	colour: Colour,
	half: keyof ThemeColour,
): Record<"accent" | "hover" | "ink" | "soft" | "text", Colour> {
	const [away, ground] = half === "light" ? [BLACK, WHITE] : [WHITE, "#151a21"];
	const grounds = GROUNDS[half];
	const accent = moveAway(colour, away, grounds, SHAPE_CONTRAST);
	const soft = mix(ground, colour, SOFT_SHARE[half]);
	// One of the two always has it: where both are equally far away, each has 4.58.
	const ink = contrastOf(WHITE, accent) >= TEXT_CONTRAST ? WHITE : BLACK;
	return {
		accent,
		hover: mix(accent, ink === WHITE ? BLACK : WHITE, HOVER_SHARE),
		ink,
		soft,
		text: moveAway(colour, away, [...grounds, soft], TEXT_CONTRAST),
	};
}

/** As little as it takes. */
function moveAway(colour: Colour, away: Colour, grounds: readonly Colour[], contrast: number): Colour {
	for (let step = 0; step < STEPS; step++) {
		const moved = mix(colour, away, step / STEPS);
		if (grounds.every((ground) => contrastOf(moved, ground) >= contrast)) return moved;
	}
	return away;
}

function mix(one: Colour, other: Colour, shareOfOther: number): Colour {
	const [from, to] = [channels(one), channels(other)];
	const mixed = from.map((value, at) => Math.round(value + ((to[at] ?? 0) - value) * shareOfOther));
	return `#${mixed.map((value) => value.toString(16).padStart(2, "0")).join("")}`;
}

/** WCAG 2.2: from 1, which nobody can read, to 21, black on white. */
export function contrastOf(one: Colour, other: Colour): number {
	const [a, b] = [luminanceOf(one), luminanceOf(other)];
	return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
}

function luminanceOf(colour: Colour): number {
	const [red = 0, green = 0, blue = 0] = channels(colour).map((value) => {
		const share = value / 255;
		return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
	});
	return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function channels(colour: Colour): number[] {
	return [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16));
}
