// The API reference as Markdown, made from the same document that /openapi.json answers.

import type {
	HttpMethod,
	JsonSchema,
	MediaType,
	OpenApiDocument,
	Operation,
	Parameter,
} from "../../openapi.ts";
import { DOCS_PATH, PROBLEMS_PATH, problemPath } from "../paths.ts";
import { fence, headingId, table } from "./markdown.ts";

/** Those that several calls speak of; the others stand where they are used. */
const SHOWN_SCHEMAS = ["Conversion", "ConversionPage", "OneConversion", "Batch", "Listening", "Problem"];
const METHODS: readonly HttpMethod[] = ["post", "get"];

export function writeReference(document: OpenApiDocument): string {
	const { info, servers, tags, components } = document;
	return [
		"# API reference",
		`${info.summary}. The same as a document for your tools: [OpenAPI 3.1](/openapi.json). The server is \`${servers[0]?.url}\`.`,
		"## Signing",
		info.description,
		...tags.flatMap(({ name, description }) => [
			`## ${name}`,
			description,
			...writeCalls(document, name),
			...writeCallbacks(document, name),
		]),
		"## Answers in detail",
		...SHOWN_SCHEMAS.flatMap((name) => {
			const schema = components.schemas[name] ?? {};
			return [`### ${name}`, schema.description ?? "", fieldTable("Field", fieldsOf(schema))];
		}),
		"## Problems",
		`Refusals are RFC 9457 problems, sent as \`application/problem+json\`. Decide by the code: it never changes its meaning. \`detail\` is for people, and says what to do next. [Every code](${PROBLEMS_PATH}) has a page of its own with an example, the likely causes and the cure.`,
	].join("\n\n");
}

function writeCalls({ paths }: OpenApiDocument, tag: string): string[] {
	return Object.entries(paths).flatMap(([path, item]) =>
		METHODS.flatMap((method) => {
			const operation = item[method];
			return operation?.tags.includes(tag) ? writeCall(`${method.toUpperCase()} ${path}`, operation) : [];
		}),
	);
}

function writeCall(line: string, operation: Operation): string[] {
	const { summary, description, parameters = [], requestBody, responses } = operation;
	const [body] = Object.values(requestBody?.content ?? {});
	const [answer] = Object.entries(responses).filter(([status]) => status.startsWith("2"));
	return [
		`### ${summary}`,
		`**\`${line}\`**${operation.security.length === 0 ? "" : ", [signed](#signing)"}`,
		description,
		...(parameters.length === 0 ? [] : ["**Parameters**", fieldTable("Name", parameters)]),
		...(body?.schema === undefined ? [] : ["**Body**", fieldTable("Name", fieldsOf(body.schema))]),
		...(operation["x-codeSamples"] ?? []).flatMap(({ lang, source }) => [
			"**Example request**",
			fence(lang === "HTML" ? "html" : "sh", source),
		]),
		"**Answers**",
		table(
			["Status", "Meaning"],
			Object.entries(responses).map(([status, { description: meaning, content = {} }]) => {
				const [, narrowed] = content["application/problem+json"]?.schema?.allOf ?? [];
				const codes = (narrowed?.properties?.["code"]?.enum ?? []).map(String);
				return [`\`${status}\``, codes.length === 0 ? meaning : sayCodes(status, codes)];
			}),
		),
		...exampleOf("**Example answer**", answer?.[1].content),
	];
}

function sayCodes(status: string, codes: readonly string[]): string {
	// The ten ways in which a signature can be wrong are the same for every call: they are listed once.
	if (status === "401")
		return `The call is not [signed](#signing) correctly: [${codes.length} codes](${PROBLEMS_PATH}#http-401) say why.`;
	return codes.map((code) => `[\`${code}\`](${problemPath(code)})`).join(", ");
}

function writeCallbacks({ webhooks, components }: OpenApiDocument, tag: string): string[] {
	const callbacks = Object.entries(webhooks).filter(([, { post }]) => post.tags.includes(tag));
	const [first] = callbacks;
	if (first === undefined) return [];
	const [event, { post }] = first;
	// The headers of one event stand for those of all: only its name is another.
	const headers = (post.parameters ?? []).map(({ in: _, schema, ...row }) => ({
		...row,
		required: false,
		schema: schema.const === event ? { type: "string" } : schema,
	}));
	return [
		...callbacks.flatMap(([name, item]) => [
			`### ${name}`,
			item.post.description,
			...exampleOf("**Example body**", item.post.requestBody?.content),
		]),
		"### Headers of a callback",
		fieldTable("Field", headers),
		"### Body of a callback",
		fieldTable("Field", fieldsOf(components.schemas["CallbackBody"] ?? {})),
		"### What each response means",
		table(
			["Your answer", "What we do"],
			Object.entries(post.responses).map(([status, { description }]) => [`\`${status}\``, description]),
		),
		`What happens without any answer is [in the guide](${DOCS_PATH}#what-we-do-with-each-answer).`,
	];
}

function exampleOf(title: string, content: Readonly<Record<string, MediaType>> = {}): string[] {
	const [example] = Object.values(Object.values(content)[0]?.examples ?? {});
	if (example === undefined) return [];
	const { value } = example;
	const block =
		typeof value === "string" ? fence("", value.trimEnd()) : fence("json", JSON.stringify(value, null, 2));
	return [title, block];
}

/** A field of a body, or a parameter: then with where it is sent (path, query or header). */
type Field = Pick<Parameter, "name" | "required" | "schema" | "description"> & { in?: Parameter["in"] };

function fieldsOf({ properties = {}, required = [] }: JsonSchema): Field[] {
	return Object.entries(properties).map(([name, schema]) => {
		return { name, required: required.includes(name), schema, description: schema.description ?? "" };
	});
}

/** Which fields are required is said of requests, by their name: in an answer all of them are there. */
function fieldTable(title: "Name" | "Field", fields: readonly Field[]): string {
	return table(
		[title, "Type", "Meaning"],
		fields.map(({ name, in: where, required, schema, description }) => [
			`\`${name}\`${where === undefined ? "" : ` ${where}`}${title === "Name" && required ? " *required*" : ""}`,
			typeOf(schema),
			[description, ...valuesOf(schema)].join(" "),
		]),
	);
}

function typeOf(schema: JsonSchema): string {
	const name = schema.$ref?.split("/").at(-1);
	if (name === "ProblemCode") return `[${name}](#problems)`;
	if (name !== undefined) return `[${name}](#${headingId(name)})`;
	if (schema.items !== undefined) return `list of ${typeOf(schema.items)}`;
	const types = typeof schema.type === "string" ? [schema.type] : (schema.type ?? []);
	const words = types.map((type) =>
		type === "string" && schema.format !== undefined ? schema.format : type,
	);
	// A choice between objects has no type of its own; its description says between which.
	return words.length === 0 ? "object" : words.join(" or ");
}

/** What it may be, as far as the description leaves it open. */
function valuesOf(schema: JsonSchema): string[] {
	const {
		enum: values = [],
		const: only,
		default: standard,
		minLength = 0,
		maxLength,
		minimum,
		maximum,
	} = schema;
	const codes = values.filter((value) => value !== null).map((value) => `\`${value}\``);
	return [
		only === undefined ? [] : `Always \`${only}\`.`,
		codes.length === 0 ? [] : `One of ${codes.join(", ")}.`,
		maxLength === undefined ? [] : `${minLength} to ${maxLength} characters.`,
		maximum === undefined || minimum === undefined ? [] : `${minimum} to ${maximum}.`,
		standard === undefined ? [] : `Default \`${standard}\`.`,
	].flat();
}
