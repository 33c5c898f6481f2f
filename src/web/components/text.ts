// The smallest pieces: a state as a badge, a moment, an amount, something to copy.

import { html } from "hono/html";
import type { Html } from "../html.ts";

export type Tone = "good" | "warn" | "bad" | "info" | "plain";

export function badge(tone: Tone, text: string): Html {
	return html`<span class="badge badge-${tone}">${text}</span>`;
}

/** UTC as text, which the page's script turns into the reader's own zone, with UTC on hover. */
export function timeTag(atMs: number): Html {
	const iso = new Date(atMs).toISOString();
	const text = `${iso.slice(0, 10)} ${iso.slice(11, 19)} UTC`;
	return html`<time class="nowrap" datetime="${iso}" title="${text}">${text}</time>`;
}

/** A day, for what is counted in days. */
export function dayTag(atMs: number): Html {
	const iso = new Date(atMs).toISOString();
	return html`<time class="nowrap" datetime="${iso}" data-show="day" title="${iso.slice(0, 16).replace("T", " ")} UTC">${iso.slice(0, 10)}</time>`;
}

/** The digits as they are stored: never through a number. */
export function amount(value: string, currency: string): Html {
	return html`<span class="number">${groupDigits(value)} <span class="faint">${currency}</span></span>`;
}

export function count(value: number): string {
	return groupDigits(String(value));
}

/** With thin spaces by thousands, so that it reads the same in every language. */
function groupDigits(decimal: string): string {
	const [whole = "", decimals] = decimal.split(".");
	const grouped = whole.replace(/\B(?=(\d{3})+$)/g, "\u202f");
	return decimals === undefined ? grouped : `${grouped}.${decimals}`;
}

/** With scripts, a button beside it; without, text that selects as a whole. */
export function copyable(text: string, label: string): Html {
	return html`<span class="copyable"><code>${text}</code><button type="button" class="button button-small" hidden data-copy="${text}" aria-label="Copy ${label}">Copy</button></span>`;
}

export function codeBlock(text: string, label: string): Html {
	return html`<div class="code"><button type="button" class="button button-small" hidden data-copy="${text}" aria-label="Copy ${label}">Copy</button><pre tabindex="0" role="region" aria-label="${label}"><code>${text}</code></pre></div>`;
}
