// Renders the components of pages: text, layout, forms and tables. Components for conversions and callbacks are in
// conversion-ui.ts.

import { html } from "hono/html";
import { isoTime, utcSecond } from "../domain/time.ts";
import { DEFAULT_ZONE, dayIn, minuteIn, secondIn } from "../domain/zone-day.ts";
import { count, countOf, countUpTo, decimal } from "./numbers.ts";

export { count, countOf, countUpTo, decimal, html };

/** Markup in which every inserted value has been escaped. */
export type Html = ReturnType<typeof html>;

/** Content of an element. It can be markup, text that will be escaped, or nothing. */
export type Content = Html | string | null | readonly Content[];

/**
 * Value of an attribute. `true` writes only the name, and `false`, null and undefined omit the attribute. A
 * list is joined with spaces.
 */
type AttributeValue = string | number | boolean | null | undefined | readonly (string | false | undefined)[];

/**
 * Writes attributes with a space before each, for use in a tag such as `<input${attrs({ name, required: true
 * })}>`.
 */
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

/** Capitalises the first letter of a sentence, unless the sentence begins with an email address. */
export function capitalise(text: string): string {
	return /^\S+@/.test(text) ? text : `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}

// Small components: badges, times, amounts, and text to copy.

export type Tone = "good" | "warn" | "bad" | "info" | "plain";

export function badge(tone: Tone, text: string): Html {
	return html`<span class="badge badge-${tone}">${text}</span>`;
}

/**
 * Shows a time in UTC. The page's script converts the time to the reader's time zone, and shows the UTC time on hover.
 * If a page has days in filters or sums, it passes the network's zone. The time is then shown in that zone, with and
 * without the script, so that an entry stands on the day by which it is found.
 */
export function timeTag(atMs: number, zone?: string): Html {
	const text = secondIn(atMs, zone ?? DEFAULT_ZONE);
	const utc = utcSecond(atMs);
	const title = text === utc ? text : `${text} (${utc})`;
	return html`<time class="nowrap"${attrs({ datetime: isoTime(atMs), "data-zone": zone, title })}>${text}</time>`;
}

/** Shows a day without its time. The zone has the same meaning as for `timeTag`. */
export function dayTag(atMs: number, zone?: string): Html {
	const text = dayIn(atMs, zone ?? DEFAULT_ZONE);
	const title = minuteIn(atMs, zone ?? DEFAULT_ZONE);
	return html`<time class="nowrap"${attrs({ datetime: isoTime(atMs), "data-show": "day", "data-zone": zone, title })}>${text}</time>`;
}

/** Returns the note below a list that names the time zone of its times. */
export function zoneNote(zone: string): Html {
	return padded(html`<p class="small soft">Times are in ${zone.replaceAll("_", " ")}.</p>`);
}

/** Shows a day that has no time zone, such as the day of a payment. */
export function plainDay(day: string): Html {
	return html`<time class="nowrap" datetime="${day}">${day}</time>`;
}

/** Shows an email address with optional line breaks, if possible after "@" and ".", so that it fits into a narrow cell. */
export function emailText(email: string): Html {
	const parts = email.split(/(?<=[@.])/).map((part, index) => (index === 0 ? part : html`<wbr>${part}`));
	return html`<span class="break">${parts}</span>`;
}

/** Shows an amount in the reader's number format, so that it can be copied into a spreadsheet. */
export function amount(value: string, currency: string): Html {
	return html`<span class="number">${decimal(value)} <span class="faint">${currency}</span></span>`;
}

/** Shows text with a copy button. Without scripts there is no button, and a click selects the whole text. */
export function copyable(text: string, label: string, shown = text): Html {
	return html`<span class="copyable"><code>${shown}</code><button type="button" class="button button-small" hidden data-copy="${text}" aria-label="Copy ${label}">Copy</button></span>`;
}

/**
 * Shows code with a copy button. Code with a title scrolls sideways, so that its lines stay intact. Code
 * without a title, such as a command, wraps.
 */
export function codeBlock(code: string | Html, label: string, title?: string): Html {
	return html`<div class="code"${attrs({ "data-title": title })}><button type="button" class="button button-small" hidden data-copy aria-label="Copy ${label}">Copy</button><pre tabindex="0" role="region" aria-label="${label}"><code>${code}</code></pre></div>`;
}

// Layout: headers, sections, facts, steps, messages and empty lists.

export function pageHeader(header: { title: string; hint?: Content; actions?: Content }): Html {
	return html`<div class="page-header">
	<div><h1>${header.title}</h1>${header.hint === undefined ? null : html`<p>${header.hint}</p>`}</div>
	${header.actions === undefined ? null : html`<div class="row">${header.actions}</div>`}
</div>`;
}

/** Renders a card with a title. `body` is either made with `padded` or a table, which needs no padding. */
export function section(part: {
	id: string;
	title: string;
	hint?: Content;
	actions?: Content;
	/** Message with the result of the last form in this section (see flashAt in page.ts). */
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

/** Message that replaces the rows of an empty list. */
export interface EmptyState {
	title: string;
	text: Content;
	action?: Content | undefined;
	/**
	 * True if the message stands directly below the page's title and not in a section. Its heading then has a higher
	 * level.
	 */
	isAlone?: boolean;
}

export function emptyState(state: EmptyState): Html {
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

/** State of a step. "failing" means that something stopped working, and "faltering" that it may stop soon. */
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

/** Returns text in which commands between backticks are shown as code. */
export function withCode(text: string): Content {
	return text.split("`").map((part, index) => (index % 2 === 0 ? part : html`<code>${part}</code>`));
}

/** Renders tabs as links, which work without scripts and can be bookmarked. */
export function tabs(
	label: string,
	list: readonly { label: string; href: string; isActive: boolean }[],
): Html {
	return html`<nav class="tabs-list" aria-label="${label}">${list.map(
		(tab) => html`<a${attrs({ href: tab.href, "aria-current": tab.isActive && "true" })}>${tab.label}</a>`,
	)}</nav>`;
}

/**
 * Returns htmx attributes that reload the element `part`, and the elements `others`, from the page `href`
 * every few seconds. If a response lacks the element, nothing changes. `seen` is the fingerprint of the page.
 * While the fingerprint stays the same, the server answers 304.
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

/** Renders content that the reader can fold and unfold. `isOpen` says whether it is unfolded at first. */
export function foldable(summary: Content, isOpen: boolean, ...content: Content[]): Html {
	return html`<details class="more"${attrs({ open: isOpen })}><summary>${summary}</summary>${content}</details>`;
}

// Forms and their fields. A field has a label, and may have a hint and an error, which screen readers
// announce.

interface FieldFrame {
	name: string;
	label: Content;
	hint?: Content;
	error?: string | undefined;
	/** Id of the field. Two fields with the same name on one page must have different ids. */
	id?: string;
	isRequired?: boolean;
}

/**
 * Text fields have no maximum length, because browsers silently cut what is pasted, and "EURO" would become another
 * currency. The use case refuses a text that is too long.
 */
export interface TextField extends FieldFrame {
	value?: string;
	type?: "text" | "email" | "password" | "url" | "search" | "number" | "date" | "datetime-local";
	autocomplete?: string;
	placeholder?: string;
	isMono?: boolean;
	inputMode?: "numeric" | "decimal" | "text" | "url";
	/** True if the field has the focus when the page opens. */
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
			inputmode: field.inputMode,
			autofocus: field.hasFocus,
		})}>`,
	);
}

/** Renders a text area. Its font is monospaced unless `isProse` is true. */
export function textArea(field: FieldFrame & { value?: string; rows?: number; isProse?: boolean }): Html {
	const look = field.isProse === true ? {} : { class: "mono", spellcheck: "false" };
	return frame(
		field,
		// Browsers drop the first line break after the tag, so an extra one is added here.
		html`<textarea${controlAttrs(field)}${attrs({ ...look, rows: field.rows ?? 6 })}>\n${field.value ?? ""}</textarea>`,
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

/**
 * Size limit that the page's script checks before it sends a file. Sending it first could take minutes over a
 * slow connection.
 */
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
	/** Question that the page's script asks before it sends the form. Without scripts, the form is sent at once. */
	confirm?: string;
	/**
	 * Label for screen readers. It is needed if the visible label does not say which row the button belongs to.
	 */
	ariaLabel?: string;
	/** True if the button sends the form even if required fields are empty. */
	skipsChecks?: boolean;
	/** Address to which this button sends the form. By default it is the form's own address. */
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
	/** Hidden fields of the form, by name. */
	hidden?: Readonly<Record<string, string>>;
	className?: string;
	isUpload?: boolean;
	/** Id of the section that the form changes. With scripts, only this section of the page is replaced. */
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

/** Renders a form that consists of a single button. */
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

// Tables, which scroll sideways on a narrow screen.

/** Sort order of a column, and the address to which its heading links. */
export interface SortedColumn {
	/** Current direction, or null if the list is sorted by another column. */
	direction: "asc" | "desc" | null;
	href: string;
}

export interface Column<Row> {
	title: Content;
	sorted?: SortedColumn | undefined;
	/** True if only screen readers get the column's title, as for a column of buttons. */
	isTitleHidden?: boolean;
	isNumber?: boolean;
	/**
	 * True for the column that names the row. On a phone it comes first in the row's card, and has no title.
	 */
	namesRow?: boolean;
	cell(row: Row): Content;
}

export function dataTable<Row>(table: {
	/** Name of the table for screen readers. */
	caption: string;
	columns: readonly Column<Row>[];
	rows: readonly Row[];
	empty: Content;
	rowId?(row: Row): string;
	/**
	 * True if each row becomes a small card in a narrow place, such as on a phone, with each cell beside its column's
	 * title. "tight" puts several cells on one line, for long lists with short cells.
	 */
	stacks?: boolean | "tight";
}): Html {
	if (table.rows.length === 0) return html`${table.empty}`;
	const stacks = table.stacks === true || table.stacks === "tight";
	// In some browsers the style `display: block` removes the meaning of a table for screen readers. The
	// explicit roles restore it.
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

/**
 * Returns the attribute with the column's title, which the style sheet shows in the cards on a phone. Screen
 * readers use the table's own heading.
 */
function stackedTitle<Row>({ title, isTitleHidden, namesRow }: Column<Row>): Html | null {
	const isShown = typeof title === "string" && isTitleHidden !== true && namesRow !== true;
	return isShown ? html` data-label="${title}"` : null;
}
