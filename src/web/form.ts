// Forms as they are declared: what each asks for, how its fields look, and what faults call them. What was typed is read
// once; a refused form shows it again, with each fault at its field, and above the form what is at none of them.

import type { Fault } from "../domain/fault.ts";
import type { WebContext } from "./page.ts";
import { type Html, html, message, type Option, selectField, type TextField, textField } from "./ui.ts";

export interface FormField extends Omit<TextField, "name" | "value" | "error"> {
	/** Chosen, not typed. */
	options?: readonly Option[];
	/** Brought along and not shown. */
	isHidden?: true;
	/** What faults call it, besides its own name. */
	alsoCalled?: readonly string[];
}

export const HIDDEN: FormField = { label: "", isHidden: true };

export interface FilledForm<Name extends string> {
	/** Those that are named, in this order; all of them without a name. */
	fields(...names: readonly Name[]): readonly Html[];
	isWrong(name: Name): boolean;
	/** What is wrong at none of the fields that are shown. */
	above: Html | null;
}

interface Filling<Name extends string> {
	/** Where not all of them are. */
	shown?: readonly Name[];
	/** Where one looks otherwise than declared. */
	looks?: Readonly<Partial<Record<Name, Partial<FormField>>>>;
}

interface DeclaredForm<Name extends string> {
	/** What is missing, or is a file, is empty text: the use case says what it needs. */
	read(c: WebContext): Promise<Record<Name, string>>;
	fill(
		values: Readonly<Partial<Record<Name, string | undefined>>>,
		faults: Fault | readonly Fault[] | undefined,
		filling?: Filling<Name>,
	): FilledForm<Name>;
}

export function declareForm<Name extends string>(
	declared: Readonly<Record<Name, FormField>>,
): DeclaredForm<Name> {
	const all = Object.keys(declared) as Name[];
	return {
		read: (c) => readTextFields(c, all),
		fill(values, faults = [], { shown = all, looks } = {}) {
			const placed = [faults].flat().map((fault) => ({ fault, at: shown.find((name) => isAt(name, fault)) }));
			const errorAt = (name: Name) => placed.findLast(({ at }) => at === name)?.fault.detail;
			const elsewhere = placed.find(({ at }) => at === undefined);
			return {
				fields: (...names) =>
					(names.length === 0 ? shown : names).map((name) =>
						renderField({ ...declared[name], ...looks?.[name] }, name, values[name] ?? "", errorAt(name)),
					),
				isWrong: (name) => errorAt(name) !== undefined,
				above: elsewhere === undefined ? null : message("bad", capitalise(elsewhere.fault.detail)),
			};
		},
	};

	function isAt(name: Name, { field }: Fault): boolean {
		return field === name || (field !== undefined && declared[name].alsoCalled?.includes(field) === true);
	}
}

function renderField(look: FormField, name: string, value: string, error: string | undefined): Html {
	if (look.isHidden === true) return html`<input type="hidden" name="${name}" value="${value}">`;
	const field = { ...look, name, value, error: error === undefined ? undefined : capitalise(error) };
	const { options } = look;
	return options === undefined ? textField(field) : selectField({ ...field, options });
}

/** Some sentences begin with the field's name in the API; here they stand alone. */
function capitalise(sentence: string): string {
	return `${sentence.charAt(0).toUpperCase()}${sentence.slice(1)}`;
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
