// The fields of a body and the parameters of a call, as tables: name, type, whether it is needed, what it means.

import { html } from "hono/html";
import type { JsonSchema, OpenApiDocument, Parameter } from "../../openapi.ts";
import { dataTable } from "../components/lists.ts";
import type { Content, Html } from "../html.ts";
import { renderLine } from "./markdown.ts";

/** A field of a body, or a parameter: then with where it is sent (path, query or header). */
export type FieldRow = Pick<Parameter, "name" | "required" | "schema" | "description"> & {
	in?: Parameter["in"];
};

export function schemaAnchor(name: string): string {
	return `schema-${name}`;
}

export function problemAnchor(code: string): string {
	return `problem-${code}`;
}

export function statusAnchor(status: string): string {
	return `problems-${status}`;
}

/** The schema itself where it is only named. */
export function resolveSchema(document: OpenApiDocument, schema: JsonSchema): JsonSchema {
	const name = refName(schema);
	return name === undefined ? schema : (document.components.schemas[name] ?? schema);
}

export function fieldRows(schema: JsonSchema): FieldRow[] {
	const { properties = {}, required = [] } = schema;
	return Object.entries(properties).map(([name, property]) => ({
		name,
		required: required.includes(name),
		schema: property,
		description: property.description ?? "",
	}));
}

/** Which fields are required is said of requests alone: in an answer all of them are there. */
export function fieldTable(caption: string, rows: readonly FieldRow[], kind: "request" | "answer"): Html {
	return dataTable({
		caption,
		rows,
		empty: null,
		columns: [
			{
				title: kind === "request" ? "Name" : "Field",
				cell: ({ name, in: where, required }) =>
					html`<code>${name}</code>${
						where === undefined ? null : html` <span class="secondary">${where}</span>`
					}${kind === "request" && required ? html`<span class="secondary api-required">required</span>` : null}`,
			},
			{ title: "Type", cell: ({ schema }) => typeOf(schema) },
			{
				title: "Meaning",
				cell: ({ schema, description }) => html`${renderLine(description)}${valuesOf(schema)}`,
			},
		],
	});
}

function typeOf(schema: JsonSchema): Content {
	const name = refName(schema);
	if (name !== undefined) return html`<a href="#${schemaAnchor(name)}">${name}</a>`;
	if (schema.items !== undefined) return html`list of ${typeOf(schema.items)}`;
	const types = typeof schema.type === "string" ? [schema.type] : (schema.type ?? []);
	const words = types.map((type) =>
		type === "string" && schema.format !== undefined ? schema.format : type,
	);
	// A choice between objects has no type of its own; its description says between which.
	return words.length === 0 ? "object" : words.join(" or ");
}

/** What it may be, as far as the description leaves it open. */
function valuesOf(schema: JsonSchema): Content {
	const notes: Content[] = [];
	const { enum: values, const: only, default: standard } = schema;
	if (only !== undefined) notes.push(html`Always <code>${String(only)}</code>.`);
	if (values !== undefined) notes.push(html`One of ${listOf(values.filter((value) => value !== null))}.`);
	if (schema.maxLength !== undefined)
		notes.push(`${schema.minLength ?? 0} to ${schema.maxLength} characters.`);
	if (schema.maximum !== undefined && schema.type === "integer" && schema.minimum !== undefined) {
		notes.push(`${schema.minimum} to ${schema.maximum}.`);
	}
	if (standard !== undefined) notes.push(html`Default <code>${String(standard)}</code>.`);
	return notes.length === 0
		? null
		: html`<span class="secondary">${notes.flatMap((note) => [note, " "])}</span>`;
}

function listOf(values: readonly unknown[]): Content {
	return values.map((value, index) => html`${index === 0 ? "" : ", "}<code>${String(value)}</code>`);
}

export function refName({ $ref }: { $ref?: string | undefined }): string | undefined {
	return $ref?.split("/").at(-1);
}
