// The one look of the pages: markup, text, layout, forms and lists. Pages import all of it from here; what is shown of
// conversions and callbacks is in conversion-ui.ts.

import { html } from "hono/html";
import { isoTime, utcDay, utcMinute } from "../domain/time.ts";
import { count, countOf, countUpTo, decimal } from "./numbers.ts";

export { count, countOf, countUpTo, decimal, html };

/** Markup whose every inserted value has been escaped. */
export type Html = ReturnType<typeof html>;

/** What may stand between two pieces: markup, text to be escaped, or nothing. */
export type Content = Html | string | null | readonly Content[];

/** True is the bare name; false, null and undefined leave it out; of a list, the words that are there. */
type AttributeValue = string | number | boolean | null | undefined | readonly (string | false | undefined)[];

/** Right behind the tag's name, because each begins with a space: `<input${attrs({ name, required: true })}>`. */
export function attrs(values: Readonly<Record<string, AttributeValue>>): Html {
	return html`${Object.entries(values).map(([name, value]) => attribute(name, value))}`;
}

function attribute(name: string, value: AttributeValue): Html | null {
	if (value === undefined || value === null || value === false) return null;
	if (value === true) return html` ${name}`;
	if (typeof value !== "object") return html` ${name}="${value}"`;
	const words = value.filter((word) => typeof word === "string" && word !== "").join(" ");
	return words === "" ? null : html` ${name}="${words}"`;
}

/** Not an address that somebody typed. */
export function capitalise(text: string): string {
	return /^\S+@/.test(text) ? text : `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}

// The smallest pieces: a state as a badge, a moment, an amount, something to copy.

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

/** In the reader's own writing, so that their spreadsheet takes what they copy. */
export function amount(value: string, currency: string): Html {
	return html`<span class="number">${decimal(value)} <span class="faint">${currency}</span></span>`;
}

/** With scripts, a button beside it; without, text that selects as a whole. */
export function copyable(text: string, label: string, shown = text): Html {
	return html`<span class="copyable"><code>${shown}</code><button type="button" class="button button-small" hidden data-copy="${text}" aria-label="Copy ${label}">Copy</button></span>`;
}

/**
 * Shows code with a button that copies it. Code with a title scrolls sideways, because its lines matter. Code without one,
 * such as a command, wraps.
 */
export function codeBlock(code: string | Html, label: string, title?: string): Html {
	return html`<div class="code"${attrs({ "data-title": title })}><button type="button" class="button button-small" hidden data-copy aria-label="Copy ${label}">Copy</button><pre tabindex="0" role="region" aria-label="${label}"><code>${code}</code></pre></div>`;
}

// How a page is laid out: its header, sections, facts, steps, messages, and what stands where a list is empty.

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
	/** What the last form came to, where it was about this part: see flashAt in page.ts. */
	message?: Content;
	body: Content;
}): Html {
	const { message = null, actions = null } = part;
	return html`<section class="card" id="${part.id}" aria-labelledby="${part.id}-title">
	<div class="section-head">
		<div><h2 id="${part.id}-title">${part.title}</h2>${part.hint === undefined ? null : html`<p>${part.hint}</p>`}</div>
		${actions === null ? null : html`<div class="row">${actions}</div>`}
	</div>
	${message === null ? null : html`<div class="section-message">${message}</div>`}
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

/**
 * Where scripts run, the part is fetched again from its page every few seconds while somebody looks at it, with `others`
 * of the page. An answer without it changes nothing. `seen`: the page answers 304 while it would show the same.
 */
export function refreshed(
	part: string,
	href: string,
	seconds: number,
	seen = "",
	others: readonly string[] = [],
) {
	return {
		"hx-get": href,
		"hx-headers": JSON.stringify({ "If-None-Match": `"${seen}"` }),
		"hx-trigger": `every ${seconds}s`,
		"hx-select": `#${part}`,
		"hx-select-oob": others.map((other) => `#${other}:outerMorph`).join(",") || null,
		"hx-swap": "outerMorph",
	};
}

export function more(summary: Content, ...content: Content[]): Html {
	return foldable(summary, false, ...content);
}

/** Open where something in it must be seen. */
export function foldable(summary: Content, isOpen: boolean, ...content: Content[]): Html {
	return html`<details class="more"${attrs({ open: isOpen })}><summary>${summary}</summary>${content}</details>`;
}

// Forms and their fields: every field has a label, a hint it is described by, and an error that is announced.

interface FieldFrame {
	name: string;
	label: Content;
	hint?: Content;
	error?: string | undefined;
	/** When two forms of a page have a field of the same name. */
	id?: string;
	isRequired?: boolean;
}

export interface TextField extends FieldFrame {
	value?: string;
	type?: "text" | "email" | "password" | "url" | "search" | "number" | "date" | "datetime-local";
	autocomplete?: string;
	placeholder?: string;
	maxLength?: number;
	isMono?: boolean;
	inputMode?: "numeric" | "decimal" | "text" | "url";
	/** In sight and ready to be typed into when the page opens. */
	hasFocus?: boolean;
}

export function textField(field: TextField): Html {
	return frame(
		field,
		html`<input${controlAttrs(field)}${attrs({
			type: field.type ?? "text",
			value: field.value ?? "",
			class: [field.isMono === true && "mono"],
			autocomplete: field.autocomplete,
			placeholder: field.placeholder,
			maxlength: field.maxLength,
			inputmode: field.inputMode,
			autofocus: field.hasFocus,
		})}>`,
	);
}

/** For code and the like, unless it is prose. */
export function textArea(
	field: FieldFrame & { value?: string; rows?: number; isProse?: boolean; maxLength?: number },
): Html {
	const look = field.isProse === true ? {} : { class: "mono", spellcheck: "false" };
	return frame(
		field,
		// Browsers drop the first line break behind the tag: what begins with one keeps it.
		html`<textarea${controlAttrs(field)}${attrs({ ...look, rows: field.rows ?? 6, maxlength: field.maxLength })}>\n${field.value ?? ""}</textarea>`,
	);
}

export interface Option {
	value: string;
	label: string;
}

export function selectField(field: FieldFrame & { value?: string; options: readonly Option[] }): Html {
	const options = field.options.map(
		({ value, label }) => html`<option${attrs({ value, selected: value === field.value })}>${label}</option>`,
	);
	return frame(field, html`<select${controlAttrs(field)}>${options}</select>`);
}

/** Where scripts run, a larger file is refused in these words before it is sent: over a slow line that takes minutes. */
export interface FileLimit {
	bytes: number;
	words: string;
}

export function fileField(field: FieldFrame & { accept: string; limit?: FileLimit }): Html {
	return frame(
		field,
		html`<input${controlAttrs(field)}${attrs({
			type: "file",
			accept: field.accept,
			"data-max-bytes": field.limit?.bytes,
			"data-too-large": field.limit?.words,
		})}>`,
	);
}

export function checkbox(box: {
	name: string;
	value?: string;
	label: Content;
	isChecked?: boolean;
	error?: string | undefined;
}): Html {
	const { name, error } = box;
	const wrong = error !== undefined && { "aria-invalid": "true", "aria-describedby": `${name}-error` };
	const values = { name, value: box.value ?? "on", checked: box.isChecked, ...wrong };
	return html`<label class="check"><input type="checkbox"${attrs(values)}><span>${box.label}</span></label>${
		error === undefined ? null : html`<p class="field-error" id="${name}-error">${error}</p>`
	}`;
}

export interface Button {
	label: string;
	tone?: "primary" | "danger" | "quiet";
	isSmall?: boolean;
	isWide?: boolean;
	name?: string;
	value?: string;
	/** Asked before it is done, where scripts run. */
	confirm?: string;
	/** For screen readers, where the label alone does not say which row it is about. */
	ariaLabel?: string;
	/** Sent although a field is empty that the form's other buttons need. */
	skipsChecks?: boolean;
	/** Where it sends the form, when not where the form goes otherwise. */
	formAction?: string;
}

export function button(look: Button): Html {
	return html`<button type="submit"${attrs({
		class: classes(look),
		name: look.name,
		value: look.value,
		"data-confirm": look.confirm,
		"aria-label": look.ariaLabel,
		formnovalidate: look.skipsChecks,
		formaction: look.formAction,
	})}>${look.label}</button>`;
}

export function linkButton(
	look: Pick<Button, "label" | "tone" | "isSmall" | "isWide" | "ariaLabel"> & { href: string },
): Html {
	return html`<a${attrs({ class: classes(look), href: look.href, "aria-label": look.ariaLabel })}>${look.label}</a>`;
}

interface PostForm {
	action: string;
	body: Content;
	/** What it brings along. */
	hidden?: Readonly<Record<string, string>>;
	className?: string;
	isUpload?: boolean;
	/** The id of the part that it changes: where scripts run, the rest of the page stays as it is. */
	changes?: string | undefined;
}

export function postForm(form: PostForm): Html {
	const part = form.changes === undefined ? undefined : `#${form.changes}`;
	return html`<form method="post"${attrs({
		action: form.action,
		class: form.className ?? "stack",
		enctype: form.isUpload === true && "multipart/form-data",
		"hx-post": part && form.action,
		"hx-select": part,
		"hx-target": part,
		"hx-swap": part && "outerMorph",
	})}>${Object.entries(form.hidden ?? {}).map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}${form.body}</form>`;
}

/** A form that is a button. */
export function buttonForm(form: Button & Omit<PostForm, "body" | "isUpload">): Html {
	const { action, hidden = {}, changes, className = "row", ...look } = form;
	return postForm({ action, hidden, changes, className, body: button(look) });
}

function classes({ tone, isSmall, isWide }: Pick<Button, "tone" | "isSmall" | "isWide">) {
	return [
		"button",
		tone !== undefined && `button-${tone}`,
		isSmall === true && "button-small",
		isWide === true && "button-wide",
	];
}

function controlAttrs(field: FieldFrame): Html {
	const { name, id = name, hint, error } = field;
	return attrs({
		id,
		name,
		"aria-describedby": [hint !== undefined && `${id}-hint`, error !== undefined && `${id}-error`],
		"aria-invalid": error !== undefined && "true",
		required: field.isRequired,
	});
}

function frame({ name, id = name, label, hint, error }: FieldFrame, control: Html): Html {
	return html`<div class="field"><label for="${id}">${label}</label>${control}${
		hint === undefined ? null : html`<p class="field-hint" id="${id}-hint">${hint}</p>`
	}${error === undefined ? null : html`<p class="field-error" id="${id}-error">${error}</p>`}</div>`;
}

// Long lists: a table that scrolls by itself when narrow, a bar of filters, and pages by cursor.

/** A column by which a list can be sorted: how it is now, and where its heading leads. */
export interface SortedColumn {
	/** Null when the list is sorted by something else. */
	direction: "asc" | "desc" | null;
	href: string;
}

export interface Column<Row> {
	title: Content;
	sorted?: SortedColumn;
	/** For a column of controls: read out, not shown. */
	isTitleHidden?: boolean;
	isNumber?: boolean;
	/** What the row is about: where rows are stacked it comes first, and needs no title. */
	namesRow?: boolean;
	cell(row: Row): Content;
}

export function dataTable<Row>(table: {
	/** Read out before the table. */
	caption: string;
	columns: readonly Column<Row>[];
	rows: readonly Row[];
	empty: Content;
	rowId?(row: Row): string;
	/**
	 * On a phone a row is a small card, each cell beside its column's title, and nothing is out of sight. "tight": with as
	 * many cells side by side as there is room for, where the rows are many and what they say is short.
	 */
	stacks?: boolean | "tight";
}): Html {
	if (table.rows.length === 0) return html`${table.empty}`;
	const stacks = table.stacks === true || table.stacks === "tight";
	// `display: block` removes table semantics in some browsers; explicit roles keep them.
	const role = (name: string) => (stacks ? html` role="${name}"` : null);
	return html`<div class="table-scroll" tabindex="0" role="region" aria-label="${table.caption}"><table${attrs(
		{
			class: [stacks && "stacks", table.stacks === "tight" && "stacks-tight"],
		},
	)}${role("table")}>
	<caption class="visually-hidden">${table.caption}</caption>
	<thead${role("rowgroup")}><tr${role("row")}>${table.columns.map(
		({ title, isNumber, isTitleHidden, sorted }) =>
			html`<th scope="col" class="${isNumber === true ? "number" : ""}"${role("columnheader")}${sortState(sorted)}>${
				isTitleHidden === true ? html`<span class="visually-hidden">${title}</span>` : heading(title, sorted)
			}</th>`,
	)}</tr></thead>
	<tbody${role("rowgroup")}>${table.rows.map(
		(row) =>
			html`<tr${table.rowId === undefined ? null : html` id="${table.rowId(row)}"`}${role("row")}>${table.columns.map(
				(column) =>
					html`<td class="${cellClass(column)}"${role("cell")}${stacks ? stackedTitle(column) : null}>${column.cell(row)}</td>`,
			)}</tr>`,
	)}</tbody>
</table></div>`;
}

function sortState(sorted: SortedColumn | undefined): Html | null {
	if (sorted?.direction === undefined || sorted.direction === null) return null;
	return html` aria-sort="${sorted.direction === "asc" ? "ascending" : "descending"}"`;
}

function heading(title: Content, sorted: SortedColumn | undefined): Content {
	return sorted === undefined ? title : html`<a class="sort-link" href="${sorted.href}">${title}</a>`;
}

function cellClass<Row>({ isNumber, namesRow }: Column<Row>): string {
	return [isNumber === true ? "number" : "", namesRow === true ? "names-row" : ""].join(" ").trim();
}

/** Read by the style sheet alone: whoever listens has the column's own title. */
function stackedTitle<Row>({ title, isTitleHidden, namesRow }: Column<Row>): Html | null {
	const isShown = typeof title === "string" && isTitleHidden !== true && namesRow !== true;
	return isShown ? html` data-label="${title}"` : null;
}
