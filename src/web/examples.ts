// A shop's receivers and senders in the languages shops run: the files of examples/. The Integration
// page, the guide and the tests all show and run exactly these, with the instance's own values filled in.

import { CLICK_PARAMETER } from "../domain/click.ts";
import { DAY_MS, SECOND_MS } from "../domain/time.ts";
import { readShippedFile } from "../shipped-files.ts";
import type { CodeLanguage } from "./highlight.ts";

export const EXAMPLE_LANGUAGES = [
	{ value: "node", label: "Node", receiver: "receiver.mjs", sender: "sender.mjs", click: "click.mjs" },
	{ value: "php", label: "PHP", receiver: "receiver.php", sender: "sender.php", click: "click.php" },
	{ value: "python", label: "Python", receiver: "receiver.py", sender: "sender.py", click: "click.py" },
	{ value: "ruby", label: "Ruby", receiver: "receiver.ru", sender: "sender.rb", click: "click.ru" },
	{ value: "go", label: "Go", receiver: "receiver.go", sender: "sender.go", click: "click.go" },
	{ value: "java", label: "Java", receiver: "Receiver.java", sender: "Sender.java", click: "Click.java" },
	{ value: "csharp", label: "C#", receiver: "receiver.cs", sender: "sender.cs", click: "click.cs" },
	{
		value: "shell",
		label: "curl + openssl",
		receiver: "receiver.sh",
		sender: "sender.sh",
		click: "click.sh",
	},
] as const;
export type ExampleLanguage = (typeof EXAMPLE_LANGUAGES)[number]["value"];
/** `click` keeps the click id of a partner's link. */
export type ExampleRole = "receiver" | "sender" | "click";

export interface ExampleValues {
	/** The address of this service, without a path. */
	publicUrl: string;
	/** Names the headers: X-<brand>-Signature. */
	brand: string;
	/** Of a programme that credits partners. */
	click?: { parameter: string; days: number };
}

/** The one that is asked for, or else the first. */
export function parseLanguage(asked: string | undefined): (typeof EXAMPLE_LANGUAGES)[number] {
	return EXAMPLE_LANGUAGES.find(({ value }) => value === asked) ?? EXAMPLE_LANGUAGES[0];
}

/** As it stands in the file: with the brand Service, and an address that no service has. */
export function readExample(language: ExampleLanguage, role: ExampleRole): string {
	return readShippedFile(`examples/${language}/${parseLanguage(language)[role]}`);
}

/** What a fence in Markdown calls it. */
export function codeLanguageOf(language: ExampleLanguage): CodeLanguage {
	if (language === "node") return "js";
	return language === "shell" ? "sh" : language;
}

const AS_IN_FILES = { parameter: CLICK_PARAMETER, days: 30 };
const secondsOf = ({ days }: { days: number }) => String((days * DAY_MS) / SECOND_MS);

/** As functions, because a value could hold what a replacement text takes for a pattern. */
export function fillIn(text: string, { publicUrl, brand, click = AS_IN_FILES }: ExampleValues): string {
	// PHP and Rack hand headers over under CGI's names for them.
	const cgiBrand = brand.toUpperCase().replaceAll("-", "_");
	return text
		.replaceAll("https://ringback.example", () => publicUrl)
		.replaceAll(AS_IN_FILES.parameter, () => click.parameter)
		.replaceAll(secondsOf(AS_IN_FILES), secondsOf(click))
		.replaceAll("X-Service-", () => `X-${brand}-`)
		.replaceAll("HTTP_X_SERVICE_", () => `HTTP_X_${cgiBrand}_`)
		.replaceAll('brand: "Service"', () => `brand: "${brand}"`);
}
