// How a page is laid out: its header, sections, facts, steps, messages, and what stands where a list is empty.

import { html } from "hono/html";
import { attrs, type Content, type Html } from "../html.ts";
import type { Tone } from "./text.ts";

export function pageHeader(header: { title: string; hint?: Content; actions?: Content }): Html {
	return html`<div class="page-header">
	<div><h1>${header.title}</h1>${header.hint === undefined ? null : html`<p>${header.hint}</p>`}</div>
	${header.actions === undefined ? null : html`<div class="row">${header.actions}</div>`}
</div>`;
}

/** A titled card. `body` brings its own padding (`padded`) or is a table that fills it. */
export function section(part: {
	id: string;
	title: string;
	hint?: Content;
	actions?: Content;
	/** What the last form came to, where it was about this part: see flash.ts. */
	told?: Content;
	body: Content;
}): Html {
	const { told = null, actions = null } = part;
	return html`<section class="card" id="${part.id}" aria-labelledby="${part.id}-title">
	<div class="section-head">
		<div><h2 id="${part.id}-title">${part.title}</h2>${part.hint === undefined ? null : html`<p>${part.hint}</p>`}</div>
		${actions === null ? null : html`<div class="row">${actions}</div>`}
	</div>
	${told === null ? null : html`<div class="section-told">${told}</div>`}
	${part.body}
</section>`;
}

export function padded(...content: Content[]): Html {
	return html`<div class="card-body">${content}</div>`;
}

export function card(...content: Content[]): Html {
	return html`<div class="card"><div class="card-body">${content}</div></div>`;
}

export function emptyState(state: {
	title: string;
	text: Content;
	action?: Content | undefined;
	/** Directly below the page's own title, in no section. */
	isAlone?: boolean;
}): Html {
	const title = state.isAlone === true ? html`<h2>${state.title}</h2>` : html`<h3>${state.title}</h3>`;
	return html`<div class="empty">${title}<p>${state.text}</p>${
		state.action === undefined ? null : html`<div class="row">${state.action}</div>`
	}</div>`;
}

export function message(tone: Exclude<Tone, "plain">, text: Content): Html {
	return html`<div class="message message-${tone}" role="${tone === "bad" ? "alert" : "status"}"><div>${text}</div></div>`;
}

export function facts(pairs: readonly (readonly [term: string, value: Content])[]): Html {
	return html`<dl class="facts">${pairs.map(([term, value]) => html`<dt>${term}</dt><dd>${value}</dd>`)}</dl>`;
}

export interface Stat {
	label: string;
	value: Content;
	hint?: Content;
}

export function statStrip(stats: readonly Stat[]): Html {
	return html`<dl class="stats">${stats.map(
		({ label, value, hint }) =>
			html`<div class="stat"><dt>${label}</dt><dd>${value}${hint === undefined ? null : html`<small>${hint}</small>`}</dd></div>`,
	)}</dl>`;
}

/** "failing" is one that worked before and does not now; "faltering", one that may be about to. */
export type StepState = "to do" | "done" | "faltering" | "failing";

export function steps(list: readonly { state: StepState; title: string; text: Content }[]): Html {
	return html`<ol class="steps">${list.map(
		({ state, title, text }) => html`<li class="${STEP_CLASSES[state]}">
	<span class="step-mark" aria-hidden="true"></span>
	<div><h3>${title}<span class="visually-hidden">: ${state}</span></h3><p class="small soft">${text}</p></div>
</li>`,
	)}</ol>`;
}

const STEP_CLASSES: Readonly<Record<StepState, string>> = {
	"to do": "step",
	done: "step step-done",
	faltering: "step step-faltering",
	failing: "step step-failing",
};

/** Tabs are links: they work without scripts and can be bookmarked. */
export function tabs(
	label: string,
	list: readonly { label: string; href: string; isActive: boolean }[],
): Html {
	return html`<nav class="tabs-list" aria-label="${label}">${list.map(
		(tab) => html`<a${attrs({ href: tab.href, "aria-current": tab.isActive && "true" })}>${tab.label}</a>`,
	)}</nav>`;
}

export function more(summary: string, ...content: Content[]): Html {
	return foldable(summary, false, ...content);
}

/** Open where something in it must be seen. */
export function foldable(summary: string, isOpen: boolean, ...content: Content[]): Html {
	return html`<details class="more"${attrs({ open: isOpen })}><summary>${summary}</summary>${content}</details>`;
}
