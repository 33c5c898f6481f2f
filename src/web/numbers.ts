// Numbers as the reader of a page writes them: grouped, and with the decimal sign of their language. They stand in every
// piece of a page, and only the request knows whose page it is: so the language goes along with the request.

import { AsyncLocalStorage } from "node:async_hooks";

interface Writing {
	whole: Intl.NumberFormat;
	decimalSign: string;
}

const ENGLISH = "en-GB";
const present = new AsyncLocalStorage<Writing>();
/** Making one takes longer than many a page. Browsers send what they like, so that not all are kept. */
const writings = new Map<string, Writing>();
const MAX_WRITINGS = 100;
const english = writingOf(ENGLISH);

/** `languages`: the one a reader chose, or what their browser sends as Accept-Language. */
export function inLanguage<Made>(languages: string | undefined, make: () => Made): Made {
	return present.run(languages === undefined ? english : writingOf(languages), make);
}

function writingOf(languages: string): Writing {
	const language = /^[^,;\s]*/.exec(languages)?.[0] ?? ENGLISH;
	const known = writings.get(language);
	if (known !== undefined) return known;
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
		// Not a language: browsers send what they like.
		return new Intl.NumberFormat(ENGLISH);
	}
}

/** In sentences: "5,000", "99.9". */
export function count(value: number): string {
	return (present.getStore() ?? english).whole.format(value);
}

/** "1 row", "40,000 rows". */
export function countOf(value: number, noun: string, plural = `${noun}s`): string {
	return `${count(value)} ${value === 1 ? noun : plural}`;
}

/** Of what is counted so far and no further: "100+". */
export function countUpTo(value: number, most: number): string {
	return value < most ? count(value) : `${count(most)}+`;
}

/** Digits and a point as they are stored: never through a number, which would round them. */
export function decimal(value: string): string {
	const { whole, decimalSign } = present.getStore() ?? english;
	const [before = "", ...after] = value.split(".");
	return [whole.format(BigInt(before)), ...after].join(decimalSign);
}

/** Spreadsheets expect semicolons between columns where decimals have a comma. */
export function hasDecimalComma(): boolean {
	return (present.getStore() ?? english).decimalSign === ",";
}
