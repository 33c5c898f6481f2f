// Renders declared forms. A declaration has the fields, their look, and the names that faults use for them. If a form
// is refused, its page is rendered again in the same request. The form then shows the typed values, each fault at its
// field, and all other faults above the form.

import type { StatusCode } from "hono/utils/http-status";
import type { Fault } from "../domain/fault.ts";
import type { WebContext } from "./page.ts";
import * as ui from "./ui.ts";
import { type Content, type Html, html } from "./ui.ts";

export interface FormField extends Omit<ui.TextField, "name" | "value" | "error"> {
	/** Options of a select field. */
	options?: readonly ui.Option[];
	/** File types that a file field accepts. The guard of uploads reads the file itself. */
	accept?: string;
	limit?: ui.FileLimit;
	/** Number of visible lines of a text area. */
	rows?: number;
	/** True for a checkbox, whose value is "on" or empty. */
	isBox?: true;
	/** True for a hidden field. */
	isHidden?: true;
	/** Other names that faults use for this field. */
	alsoCalled?: readonly string[];
}

export const HIDDEN: FormField = { label: "", isHidden: true };

export interface FilledForm<Name extends string> {
	/** Renders the named fields in this order, or all shown fields if no name is given. */
	fields(...names: readonly Name[]): readonly Html[];
	isWrong(name: Name): boolean;
}

type Values<Name extends string> = Readonly<Partial<Record<Name, string | null | undefined>>>;

interface FormLook<Name extends string> {
	action: string;
	/** Label of the button, or markup that replaces the button below the fields. */
	send: string | Html;
	/** Initial values of the fields. */
	values?: Values<Name>;
	/** Names of the fields to show. By default all fields are shown. */
	shown?: readonly Name[];
	/** Changes to the declared look of fields, by the name of the field. */
	looks?: Readonly<Partial<Record<Name, Partial<FormField>>>>;
	/** Arranges the fields. By default they are one below the other. */
	rows?(form: FilledForm<Name>): Content;
}

interface DeclaredForm<Name extends string> {
	/**
	 * Reads the values that were sent. A missing field and a file count as the empty string, and the use case
	 * checks them.
	 */
	read(c: WebContext): Promise<Record<Name, string>>;
	show(c: WebContext, look: FormLook<Name>): Html;
	/** Renders the page with `show` once more, now with the faults. `typed` replaces the values that were sent. */
	refuse<Answer>(c: WebContext, refused: Refused, show: () => Answer, typed?: Values<Name>): Answer;
}

/** Refusal by a use case, with its first fault or with all of them. */
interface Refused {
	fault: Fault;
	faults?: readonly Fault[];
}

export function declareForm<Name extends string>(
	declared: Readonly<Record<Name, FormField>>,
): DeclaredForm<Name> {
	const all = Object.keys(declared) as Name[];
	const typed = new WeakMap<WebContext, Values<Name>>();
	const refusals = new WeakMap<WebContext, Refused>();
	return {
		async read(c) {
			const read = await readTextFields(c, all);
			typed.set(c, read);
			return read;
		},
		refuse(c, refused, show, values) {
			refusals.set(c, refused);
			if (values !== undefined) typed.set(c, values);
			c.status(refused.fault.httpStatus as StatusCode);
			return show();
		},
		show(c, { action, send, values, shown = all, looks, rows = ({ fields }) => fields() }) {
			const refused = refusals.get(c);
			const sent = refused === undefined ? undefined : typed.get(c);
			const shownValue = (name: Name) => sent?.[name] ?? values?.[name] ?? "";
			const faults = refused === undefined ? [] : (refused.faults ?? [refused.fault]);
			const placed = faults.map((fault) => ({ fault, at: shown.find((name) => isAt(name, fault)) }));
			const errorAt = (name: Name) => placed.findLast(({ at }) => at === name)?.fault.detail;
			const elsewhere = placed.find(({ at }) => at === undefined)?.fault.detail;
			const above = elsewhere ?? (refused?.faults === undefined ? undefined : MARKED);
			const body = html`${rows({
				fields: (...names) =>
					(names.length === 0 ? shown : names).map((name) =>
						renderField({ ...declared[name], ...looks?.[name] }, name, shownValue(name), errorAt(name)),
					),
				isWrong: (name) => errorAt(name) !== undefined,
			})}${typeof send === "string" ? html`<div>${ui.button({ label: send, tone: "primary" })}</div>` : send}`;
			const isUpload = shown.some((name) => declared[name].accept !== undefined);
			return html`${above === undefined ? null : ui.message("bad", ui.capitalise(above))}${ui.postForm({ action, isUpload, body })}`;
		},
	};

	function isAt(name: Name, { field }: Fault): boolean {
		return field === name || (field !== undefined && declared[name].alsoCalled?.includes(field) === true);
	}
}

/** Message above a form with several faults, because some of the marked fields may be out of sight. */
const MARKED = "Nothing was saved yet. Correct what is marked below.";

function renderField(look: FormField, name: string, value: string, error: string | undefined): Html {
	const { options, accept, isBox, isHidden, rows, ...rest } = look;
	// Some messages begin with the API's name of the field, which is lower-case.
	const shownError = error === undefined ? undefined : ui.capitalise(error);
	if (isHidden === true) return html`<input type="hidden" name="${name}" value="${value}">`;
	if (isBox === true)
		return ui.checkbox({ name, label: look.label, isChecked: value !== "", error: shownError });
	// A password is not shown again and must be typed again.
	const shown = look.type === "password" ? "" : value;
	const field = { ...rest, name, value: shown, error: shownError, hasFocus: error !== undefined };
	if (rows !== undefined) return ui.textArea({ ...field, rows, isProse: look.isMono !== true });
	if (accept !== undefined) return ui.fileField({ ...field, accept });
	return options === undefined ? ui.textField(field) : ui.selectField({ ...field, options });
}

/** Reads fields of a form that `declareForm` does not declare, such as a button with hidden fields. */
export async function readTextFields<Name extends string>(
	c: WebContext,
	names: readonly Name[],
): Promise<Record<Name, string>> {
	const body = await c.req.parseBody();
	const texts = names.map((name) => [name, textOf(body[name])] as const);
	return Object.fromEntries(texts) as Record<Name, string>;
}

/**
 * Reads which keys or tokens the person wants to keep. The form listed the ids and ticked all of them, and the person
 * unticked those to keep. A key or token that was issued after the page was opened is not on the list, so it ends.
 */
export async function readUnticked(c: WebContext): Promise<string[]> {
	const { listed = [], end = [] } = await c.req.parseBody({ all: true });
	const ended = new Set([end].flat());
	return [listed].flat().filter((id) => typeof id === "string" && !ended.has(id)) as string[];
}

function textOf(value: unknown): string {
	return typeof value === "string" ? value : "";
}
