// Forms as they are declared: what each asks for, how its fields look, and what faults call them. A form that was refused
// is remembered with its request: the page is shown again as always, and the form in it finds what was typed, each fault
// at its field, and above it what is at none of them.

import type { StatusCode } from "hono/utils/http-status";
import type { Fault } from "../domain/fault.ts";
import type { WebContext } from "./page.ts";
import * as ui from "./ui.ts";
import { type Content, type Html, html } from "./ui.ts";

export interface FormField extends Omit<ui.TextField, "name" | "value" | "error"> {
	/** Chosen, not typed. */
	options?: readonly ui.Option[];
	/** A file of these kinds, which the guard of uploads reads. */
	accept?: string;
	limit?: ui.FileLimit;
	/** Several lines of text, this many in sight. */
	rows?: number;
	/** Ticked ("on") or not (empty). */
	isBox?: true;
	/** Brought along and not shown. */
	isHidden?: true;
	/** What faults call it, besides its own name. */
	alsoCalled?: readonly string[];
}

export const HIDDEN: FormField = { label: "", isHidden: true };

export interface FilledForm<Name extends string> {
	/** Those that are named, in this order; all that are shown without a name. */
	fields(...names: readonly Name[]): readonly Html[];
	isWrong(name: Name): boolean;
}

type Values<Name extends string> = Readonly<Partial<Record<Name, string | null | undefined>>>;

interface FormLook<Name extends string> {
	action: string;
	/** The label of its button, or all that stands below the fields. */
	send: string | Html;
	/** Before anything is typed. */
	values?: Values<Name>;
	/** Where not all of them are. */
	shown?: readonly Name[];
	/** Where one looks otherwise than declared. */
	looks?: Readonly<Partial<Record<Name, Partial<FormField>>>>;
	/** How the fields are laid out: one below the other unless told. */
	rows?(form: FilledForm<Name>): Content;
}

interface DeclaredForm<Name extends string> {
	/** What is missing, or is a file, is empty text: the use case says what it needs. */
	read(c: WebContext): Promise<Record<Name, string>>;
	show(c: WebContext, look: FormLook<Name>): Html;
	/** Answers with the page again. `typed`: where it is not what was sent. */
	refuse<Answer>(c: WebContext, refused: Refused, show: () => Answer, typed?: Values<Name>): Answer;
}

/** What a use case answers: one fault, or all that is wrong. */
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

/** Above a form that is checked as a whole, where there may be more to correct than is in sight. */
const MARKED = "Nothing was saved yet. Correct what is marked below.";

function renderField(look: FormField, name: string, value: string, error: string | undefined): Html {
	const { options, accept, isBox, isHidden, rows, ...rest } = look;
	// Some sentences begin with the field's name in the API; here they stand alone.
	const said = error === undefined ? undefined : ui.capitalise(error);
	if (isHidden === true) return html`<input type="hidden" name="${name}" value="${value}">`;
	if (isBox === true) return ui.checkbox({ name, label: look.label, isChecked: value !== "", error: said });
	// A password is typed again.
	const shown = look.type === "password" ? "" : value;
	// Whoever was refused must not have to look for the reason.
	const field = { ...rest, name, value: shown, error: said, hasFocus: error !== undefined };
	if (rows !== undefined) return ui.textArea({ ...field, rows, isProse: look.isMono !== true });
	if (accept !== undefined) return ui.fileField({ ...field, accept });
	return options === undefined ? ui.textField(field) : ui.selectField({ ...field, options });
}

/** For a button that brings a value or two along. */
export async function readTextFields<Name extends string>(
	c: WebContext,
	names: readonly Name[],
): Promise<Record<Name, string>> {
	const body = await c.req.parseBody();
	const texts = names.map((name) => [name, textOf(body[name])] as const);
	return Object.fromEntries(texts) as Record<Name, string>;
}

function textOf(value: unknown): string {
	return typeof value === "string" ? value : "";
}
