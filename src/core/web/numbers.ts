// Formats numbers in the reader's language, with its grouping and decimal sign. Many parts of a page format numbers,
// so an AsyncLocalStorage passes the reader's language to all of them.

import { AsyncLocalStorage } from "node:async_hooks";

interface Writing {
	whole: Intl.NumberFormat;
	decimalSign: string;
}

const ENGLISH = "en-GB";
const present = new AsyncLocalStorage<Writing>();
/**
 * Cache of number formats by language, because creating one can take longer than rendering a page. The cache
 * is limited in size, because a browser may send any text as a language.
 */
const writings = new Map<string, Writing>();
const MAX_WRITINGS = 100;
const english = writingOf(ENGLISH);

/**
 * Runs `make` so that all numbers are formatted in the given language. `languages` is the language of the
 * reader's account, or the Accept-Language header of the browser. The default is English.
 */
export function inLanguage<Made>(languages: string | undefined, make: () => Made): Made {
	return present.run(languages === undefined ? english : writingOf(languages), make);
}

function writingOf(languages: string): Writing {
	const language = /^[^,;\s]*/.exec(languages)?.[0] ?? ENGLISH;
	const cached = writings.get(language);
	if (cached !== undefined) return cached;
	const whole = formatOf(language);
	const decimal = whole.formatToParts(0.5).find(({ type }) => type === "decimal");
	const writing = { whole, decimalSign: decimal?.value ?? "." };
	if (writings.size >= MAX_WRITINGS) writings.clear();
	writings.set(language, writing);
	return writing;
}

function formatOf(language: string): Intl.NumberFormat {
	try {
		return new Intl.NumberFormat([language, ENGLISH], { numberingSystem: "latn" });
	} catch {
		// The reader's language is not a valid language tag, so English is used.
		return new Intl.NumberFormat(ENGLISH);
	}
}

/** Formats a number in the reader's language, such as "5,000" or "99.9". */
export function count(value: number): string {
	return (present.getStore() ?? english).whole.format(value);
}

/** Returns a number with its noun, such as "1 row" or "40,000 rows". */
export function countOf(value: number, noun: string, plural = `${noun}s`): string {
	return `${count(value)} ${value === 1 ? noun : plural}`;
}

/** Formats a number that was counted only up to a limit, such as "100+". */
export function countUpTo(value: number, most: number): string {
	return value < most ? count(value) : `${count(most)}+`;
}

/** Formats a stored decimal. It is formatted as text, because converting it to a number could round it. */
export function decimal(value: string): string {
	// The sign is handled separately, because the whole part of -0.05 is 0, which has no sign.
	if (value.startsWith("-")) return `-${decimal(value.slice(1))}`;
	const { whole, decimalSign } = present.getStore() ?? english;
	const [before = "", ...after] = value.split(".");
	return [whole.format(BigInt(before)), ...after].join(decimalSign);
}

/**
 * Returns true if the reader's language has a decimal comma. Spreadsheets then expect semicolons between
 * columns.
 */
export function hasDecimalComma(): boolean {
	return (present.getStore() ?? english).decimalSign === ",";
}
