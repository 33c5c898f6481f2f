// Reading TypeScript without a parser: good enough to tell code from comments and literals, and to find imports.

import { posix } from "node:path";

export interface SourceFile {
	/** From the repository's root, with forward slashes. */
	path: string;
	text: string;
}

export interface Import {
	/** As it is written. */
	specifier: string;
	/** A path from the root for files of ours; null for packages and Node's own modules. */
	target: string | null;
	line: number;
	/** Gone when the types are stripped. */
	isTypeOnly: boolean;
}

/** What may stand before a regular expression; after anything else a slash divides. */
const BEFORE_REGEX = /(?:^|[(,=:[!&|?{};+\-*%<>~^]|\b(?:return|typeof|case|in|of|void|await|yield))\s*$/;
/** The longest of the words above, and some space. */
const LOOK_BACK = 20;

/** The same text with everything inside comments, strings and regular expressions turned into spaces. */
export function maskText(text: string): string {
	const masked = text.split("");
	let at = 0;

	const blankTo = (end: number): void => {
		for (; at < end && at < text.length; at++) if (text[at] !== "\n") masked[at] = " ";
	};
	const blankThrough = (close: string): void => {
		const end = text.indexOf(close, at + 2);
		blankTo(end === -1 ? text.length : end + close.length);
	};
	const maskQuoted = (quote: string): void => {
		at++;
		while (at < text.length && text[at] !== quote) blankTo(at + (text[at] === "\\" ? 2 : 1));
		at++;
	};
	const maskRegex = (): void => {
		let isInClass = false;
		at++;
		while (at < text.length && (isInClass || text[at] !== "/")) {
			if (text[at] === "[") isInClass = true;
			if (text[at] === "]") isInClass = false;
			blankTo(at + (text[at] === "\\" ? 2 : 1));
		}
		at++;
	};
	const maskTemplate = (): void => {
		at++;
		while (at < text.length && text[at] !== "`") {
			if (text.startsWith("${", at)) {
				at += 2;
				maskCode(true);
			} else blankTo(at + (text[at] === "\\" ? 2 : 1));
		}
		at++;
	};
	const maskCode = (isInTemplate: boolean): void => {
		for (let depth = 0; at < text.length; ) {
			const character = text[at] ?? "";
			if (text.startsWith("//", at)) blankTo(lineEnd(text, at));
			else if (text.startsWith("/*", at)) blankThrough("*/");
			else if (character === '"' || character === "'") maskQuoted(character);
			else if (character === "`") maskTemplate();
			else if (character === "/" && BEFORE_REGEX.test(masked.slice(Math.max(0, at - LOOK_BACK), at).join("")))
				maskRegex();
			else {
				if (character === "{") depth++;
				if (character === "}" && isInTemplate && depth-- === 0) return void at++;
				at++;
			}
		}
	};
	maskCode(false);
	return masked.join("");
}

function lineEnd(text: string, at: number): number {
	const end = text.indexOf("\n", at);
	return end === -1 ? text.length : end;
}

export function readImports({ path, text }: SourceFile): Import[] {
	const code = maskText(text);
	const imports: Import[] = [];
	// Static imports and re-exports, imports for their effect, and dynamic ones.
	for (const match of code.matchAll(/\b(?:import|export)\b([^;"'`()]*\bfrom\s*|\s*\(?\s*)"( *)"/g)) {
		const [whole, clause = "", blanks = ""] = match;
		const end = match.index + whole.length - 1;
		const specifier = text.slice(end - blanks.length, end);
		imports.push({
			specifier,
			target: targetOf(path, specifier),
			line: lineAt(text, match.index),
			isTypeOnly: /^\s*type\b(?!\s*from\b|\s*,)/.test(clause),
		});
	}
	return imports;
}

function targetOf(path: string, specifier: string): string | null {
	if (specifier.startsWith(".")) return posix.join(posix.dirname(path), specifier);
	return specifier.startsWith("@ringback/receiver") ? "receiver/src" : null;
}

export function lineAt(text: string, index: number): number {
	return text.slice(0, index).split("\n").length;
}
