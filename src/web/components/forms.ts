// Forms and their fields: every field has a label, a hint it is described by, and an error that is announced.

import { html } from "hono/html";
import { attrs, type Content, type Html } from "../html.ts";

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

export function textArea(field: FieldFrame & { value?: string; rows?: number }): Html {
	return frame(
		field,
		// Browsers drop the first line break behind the tag: what begins with one keeps it.
		html`<textarea${controlAttrs(field)} class="mono" rows="${field.rows ?? 6}" spellcheck="false">\n${field.value ?? ""}</textarea>`,
	);
}

export function selectField(
	field: FieldFrame & { value?: string; options: readonly { value: string; label: string }[] },
): Html {
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

export function checkbox(box: { name: string; value?: string; label: Content; isChecked?: boolean }): Html {
	const values = { name: box.name, value: box.value ?? "on", checked: box.isChecked };
	return html`<label class="check"><input type="checkbox"${attrs(values)}><span>${box.label}</span></label>`;
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
	look: Pick<Button, "label" | "tone" | "isSmall" | "isWide"> & { href: string },
): Html {
	return html`<a${attrs({ class: classes(look), href: look.href })}>${look.label}</a>`;
}

/** `csrf` is the hidden field of this reader's session. */
export function postForm(form: {
	action: string;
	csrf: Html;
	body: Content;
	className?: string;
	isUpload?: boolean;
	/** The id of the part that it changes: where scripts run, the rest of the page stays as it is. */
	changes?: string;
}): Html {
	const part = form.changes === undefined ? undefined : `#${form.changes}`;
	return html`<form method="post"${attrs({
		action: form.action,
		class: form.className ?? "stack",
		enctype: form.isUpload === true && "multipart/form-data",
		"hx-post": part && form.action,
		"hx-select": part,
		"hx-target": part,
		"hx-swap": part && "outerMorph",
	})}>${form.csrf}${form.body}</form>`;
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
