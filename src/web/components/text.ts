// The smallest pieces: a state as a badge, a moment, an amount, something to copy.

import { html } from "hono/html";
import { isoTime, utcDay, utcMinute } from "../../domain/time.ts";
import { attrs, type Html } from "../html.ts";
import { type CodeLanguage, highlight, LANGUAGE_NAMES } from "./highlight.ts";

export type Tone = "good" | "warn" | "bad" | "info" | "plain";

export function badge(tone: Tone, text: string): Html {
	return html`<span class="badge badge-${tone}">${text}</span>`;
}

/** UTC as text, which the page's script turns into the reader's own zone, with UTC on hover. */
export function timeTag(atMs: number): Html {
	const iso = isoTime(atMs);
	const text = `${utcDay(atMs)} ${iso.slice(11, 19)} UTC`;
	return html`<time class="nowrap" datetime="${iso}" title="${text}">${text}</time>`;
}

/** A day, for what is counted in days. */
export function dayTag(atMs: number): Html {
	const iso = isoTime(atMs);
	return html`<time class="nowrap" datetime="${iso}" data-show="day" title="${utcMinute(atMs)}">${utcDay(atMs)}</time>`;
}

/** Long addresses break where people would break them, so that a narrow cell shows them whole. */
export function emailText(email: string): Html {
	return html`${email.split(/(?<=[@.])/).map((part, index) => (index === 0 ? part : html`<wbr>${part}`))}`;
}

/**
 * The digits as they are stored: never through a number. The gaps between thousands are the style sheet's, so that
 * what is copied is digits and a point, which every spreadsheet takes.
 */
export function amount(value: string, currency: string): Html {
	const [whole = "", ...decimals] = value.split(".");
	const [first, ...groups] = thousandsOf(whole);
	return html`<span class="number">${first}${groups.map((group) => html`<span class="thousands">${group}</span>`)}${decimals.map(
		(digits) => `.${digits}`,
	)} <span class="faint">${currency}</span></span>`;
}

/** For sentences: with a space that does not break, which reads the same in every language. */
export function count(value: number): string {
	return thousandsOf(String(value)).join("\u00a0");
}

/** "1 row", "40 000 rows". */
export function countOf(value: number, noun: string, plural = `${noun}s`): string {
	return `${count(value)} ${value === 1 ? noun : plural}`;
}

/** An amount in plain text, where there can be no elements: with spaces that do not break. */
export function thousands(value: string): string {
	const [whole = "", ...decimals] = value.split(".");
	return [thousandsOf(whole).join("\u00a0"), ...decimals].join(".");
}

function thousandsOf(digits: string): readonly string[] {
	return digits.split(/\B(?=(?:\d{3})+$)/);
}

/** With scripts, a button beside it; without, text that selects as a whole. */
export function copyable(text: string, label: string): Html {
	return html`<span class="copyable"><code>${text}</code><button type="button" class="button button-small" hidden data-copy="${text}" aria-label="Copy ${label}">Copy</button></span>`;
}

/**
 * In colours if a language is named, which only code of our own may have: see highlight.ts. Commands and plain text wrap;
 * other code, and text whose lines count, scrolls. What it is stands above it.
 */
export function codeBlock(text: string, label: string, kind?: CodeLanguage | "lines"): Html {
	const code = kind === undefined || kind === "lines" ? text : highlight(text, kind);
	return html`<div class="code"${attrs({ "data-title": titleOf(text, kind) })}><button type="button" class="button button-small" hidden data-copy="${text}" aria-label="Copy ${label}">Copy</button><pre tabindex="0" role="region" aria-label="${label}"><code>${code}</code></pre></div>`;
}

function titleOf(text: string, kind: CodeLanguage | "lines" | undefined): string | null {
	if (kind === undefined) return null;
	return kind === "lines" ? countOf(text.split("\n").length, "line") : LANGUAGE_NAMES[kind];
}
