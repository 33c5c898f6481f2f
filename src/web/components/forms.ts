// Forms and their fields: every field has a label, a hint it is described by, and an error that is announced.

import { html } from "hono/html";
import type { Content, Html } from "../html.ts";

export interface FieldFrame {
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
	const { value = "", type = "text", autocomplete, placeholder, maxLength, inputMode } = field;
	return frame(
		field,
		html`<input ${common(field)} type="${type}" value="${value}" class="${field.isMono === true ? "mono" : ""}"${attribute(
			"autocomplete",
			autocomplete,
		)}${attribute("placeholder", placeholder)}${attribute("maxlength", maxLength)}${attribute("inputmode", inputMode)}${field.hasFocus === true ? html` autofocus` : null}>`,
	);
}

export function textArea(field: FieldFrame & { value?: string; rows?: number }): Html {
	return frame(
		field,
		html`<textarea ${common(field)} class="mono" rows="${field.rows ?? 6}" spellcheck="false">${field.value ?? ""}</textarea>`,
	);
}

export function selectField(
	field: FieldFrame & { value?: string; options: readonly { value: string; label: string }[] },
): Html {
	return frame(
		field,
		html`<select ${common(field)}>${field.options.map(
			({ value, label }) =>
				html`<option value="${value}" ${value === field.value ? html`selected` : null}>${label}</option>`,
		)}</select>`,
	);
}

export function fileField(field: FieldFrame & { accept: string }): Html {
	return frame(field, html`<input ${common(field)} type="file" accept="${field.accept}">`);
}

export function checkbox(box: { name: string; value?: string; label: Content; isChecked?: boolean }): Html {
	return html`<label class="check"><input type="checkbox" name="${box.name}" value="${box.value ?? "on"}" ${
		box.isChecked === true ? html`checked` : null
	}><span>${box.label}</span></label>`;
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
	/** For those who hear it without its row. */
	ariaLabel?: string;
	/** Sent although a field is empty that the form's other buttons need. */
	skipsChecks?: boolean;
}

export function button(look: Button): Html {
	return html`<button type="submit" class="${classes(look)}"${attribute("name", look.name)}${attribute("value", look.value)}${attribute(
		"data-confirm",
		look.confirm,
	)}${attribute("aria-label", look.ariaLabel)}${look.skipsChecks === true ? html` formnovalidate` : null}>${look.label}</button>`;
}

export function linkButton(
	look: Pick<Button, "label" | "tone" | "isSmall" | "isWide"> & { href: string },
): Html {
	return html`<a class="${classes(look)}" href="${look.href}">${look.label}</a>`;
}

/** `csrf` is the hidden field of this reader's session. */
export function postForm(form: {
	action: string;
	csrf: Html;
	body: Content;
	className?: string;
	isUpload?: boolean;
}): Html {
	return html`<form method="post" action="${form.action}" class="${form.className ?? "stack"}"${attribute(
		"enctype",
		form.isUpload === true ? "multipart/form-data" : undefined,
	)}>${form.csrf}${form.body}</form>`;
}

function classes({ tone, isSmall, isWide }: Pick<Button, "tone" | "isSmall" | "isWide">): string {
	return [
		"button",
		tone && `button-${tone}`,
		isSmall === true && "button-small",
		isWide === true && "button-wide",
	]
		.filter((name) => typeof name === "string")
		.join(" ");
}

function idOf({ id, name }: FieldFrame): string {
	return id ?? name;
}

function common(field: FieldFrame): Html {
	const id = idOf(field);
	const described = [
		field.hint === undefined ? "" : `${id}-hint`,
		field.error === undefined ? "" : `${id}-error`,
	]
		.filter((part) => part !== "")
		.join(" ");
	return html`id="${id}" name="${field.name}"${attribute("aria-describedby", described === "" ? undefined : described)}${attribute(
		"aria-invalid",
		field.error === undefined ? undefined : "true",
	)}${field.isRequired === true ? html` required` : null}`;
}

function frame(field: FieldFrame, control: Html): Html {
	const id = idOf(field);
	return html`<div class="field"><label for="${id}">${field.label}</label>${control}${
		field.hint === undefined ? null : html`<p class="field-hint" id="${id}-hint">${field.hint}</p>`
	}${field.error === undefined ? null : html`<p class="field-error" id="${id}-error">${field.error}</p>`}</div>`;
}

function attribute(name: string, value: string | number | undefined): Html | null {
	return value === undefined ? null : html` ${name}="${value}"`;
}
