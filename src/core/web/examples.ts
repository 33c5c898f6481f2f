// Returns the example programs in examples/, in the languages that shops use. They receive callbacks, send sale
// reports, or store click IDs. The Integration page and the guide show the programs with the network's own values, and
// test/examples runs them.

import { raw } from "hono/html";
import { DAY_MS, SECOND_MS } from "../domain/time.ts";
import { NOT_RENDERED_MARKUP, readRendered } from "./rendered-files.ts";
import { codeBlock, type Html } from "./ui.ts";

/** Languages of the examples. `fence` is the name of the language in Markdown. */
export const EXAMPLE_LANGUAGES = [
	{
		value: "node",
		label: "Node",
		fence: "js",
		receiver: "receiver.mjs",
		sender: "sender.mjs",
		click: "click.mjs",
	},
	{
		value: "php",
		label: "PHP",
		fence: "php",
		receiver: "receiver.php",
		sender: "sender.php",
		click: "click.php",
	},
	{
		value: "python",
		label: "Python",
		fence: "python",
		receiver: "receiver.py",
		sender: "sender.py",
		click: "click.py",
	},
	{
		value: "ruby",
		label: "Ruby",
		fence: "ruby",
		receiver: "receiver.ru",
		sender: "sender.rb",
		click: "click.ru",
	},
	{ value: "go", label: "Go", fence: "go", receiver: "receiver.go", sender: "sender.go", click: "click.go" },
	{
		value: "java",
		label: "Java",
		fence: "java",
		receiver: "Receiver.java",
		sender: "Sender.java",
		click: "Click.java",
	},
	{
		value: "csharp",
		label: "C#",
		fence: "csharp",
		receiver: "receiver.cs",
		sender: "sender.cs",
		click: "click.cs",
	},
	{
		value: "shell",
		label: "curl + openssl",
		fence: "sh",
		receiver: "receiver.sh",
		sender: "sender.sh",
		click: "click.sh",
	},
] as const;
export type ExampleLanguage = (typeof EXAMPLE_LANGUAGES)[number]["value"];

/**
 * Kinds of examples. A `click` example stores the click ID with which a buyer arrives from a partner's link.
 */
export const EXAMPLE_ROLES = ["receiver", "sender", "click"] as const;
export type ExampleRole = (typeof EXAMPLE_ROLES)[number];

export interface ExampleValues {
	/** Address of this service, without a path. */
	publicUrl: string;
	/** Brand of the network, which is part of header names such as X-<brand>-Signature. */
	brand: string;
	/** Name of the click parameter and lifetime of clicks. Left out for a programme that credits no partners. */
	click?: { parameter: string; days: number };
}

/** Returns the language with this value, or the first language if the value is unknown. */
export function parseLanguage(value: string | undefined): (typeof EXAMPLE_LANGUAGES)[number] {
	return findLanguage(value) ?? EXAMPLE_LANGUAGES[0];
}

/** Returns the language with this value, or undefined if the value is unknown. */
export function findLanguage(value: string | undefined): (typeof EXAMPLE_LANGUAGES)[number] | undefined {
	return EXAMPLE_LANGUAGES.find((language) => language.value === value);
}

/** Returns the path of an example's highlighted code, which is written by `npm ci`. */
export function renderedExamplePath(language: ExampleLanguage, role: ExampleRole): string {
	return `docs/rendered/examples/${language}/${role}.html`;
}

/** Renders an example with the given values. Screen readers announce `title` as its name. */
export function exampleBlock(
	language: (typeof EXAMPLE_LANGUAGES)[number],
	role: ExampleRole,
	title: string,
	values: ExampleValues,
): Html {
	const code = readRendered(renderedExamplePath(language.value, role)) ?? NOT_RENDERED_MARKUP;
	return codeBlock(raw(fillIn(code, values)), title, language.label);
}

/**
 * Default name of the query parameter that carries the click ID to the shop's page. A programme can choose
 * another name.
 */
export const CLICK_PARAMETER = "rbclick";

const CLICK_IN_FILES = { parameter: CLICK_PARAMETER, days: 30 };
const secondsOf = ({ days }: { days: number }) => String((days * DAY_MS) / SECOND_MS);

/**
 * Replaces the placeholders of documents and examples, in plain text or in markup. The values need no
 * escaping, because an origin, a brand and a parameter name cannot contain special characters. The
 * replacements are functions because a replacement string could contain patterns such as "$&".
 */
export function fillIn(text: string, { publicUrl, brand, click = CLICK_IN_FILES }: ExampleValues): string {
	// PHP and Rack use the CGI form of header names, which is in upper case with underscores.
	const cgiBrand = brand.toUpperCase().replaceAll("-", "_");
	return text
		.replaceAll("https://ringback.example", () => publicUrl)
		.replaceAll(CLICK_IN_FILES.parameter, () => click.parameter)
		.replaceAll(secondsOf(CLICK_IN_FILES), secondsOf(click))
		.replaceAll(/\bService\b/g, () => brand)
		.replaceAll("HTTP_X_SERVICE_", () => `HTTP_X_${cgiBrand}_`);
}
