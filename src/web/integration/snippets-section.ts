// Ready snippets with the programme's own values, both directions, one tab a language: the files of examples/.

import { html } from "hono/html";
import { message, more, padded, section, tabs } from "../components/blocks.ts";
import { codeBlock } from "../components/text.ts";
import { DOWNLOADS, downloadUrl } from "../downloads.ts";
import {
	codeLanguageOf,
	EXAMPLE_LANGUAGES,
	type ExampleLanguage,
	type ExampleValues,
	fillIn,
	readExample,
} from "../examples.ts";
import type { Html } from "../html.ts";
import { API_KEY_VARIABLE, SECRET_VARIABLE } from "../listen-command.ts";
import { DOCS_PATH, DOWNLOADS_PATH, withQuery } from "../paths.ts";

const WHILE_REPLACING = html`The signing secret is being replaced. Sign your requests with the new one, and let your receiver accept both until the old one has ended: in Node, give <code>secret</code> as a list. <a href="${DOCS_PATH}#replacing-the-secret-without-losing-a-callback">How to replace it</a>`;

export function snippetsSection(
	path: string,
	language: ExampleLanguage,
	values: SnippetValues,
	/** More than one secret is good for something just now. */
	isReplacing: boolean,
): Html {
	const label = EXAMPLE_LANGUAGES.find(({ value }) => value === language)?.label ?? "";
	return section({
		id: "snippets",
		title: "Ready snippets",
		hint: html`With this programme's values. Put the key into <code>${API_KEY_VARIABLE}</code> and the secret into <code>${SECRET_VARIABLE}</code>. <a href="${DOCS_PATH}#the-rules">The rules they keep, and why</a>`,
		body: padded(
			isReplacing ? message("info", WHILE_REPLACING) : null,
			tabs(
				"Language",
				EXAMPLE_LANGUAGES.map((other) => ({
					label: other.label,
					href: `${withQuery(path, { lang: other.value })}#snippets`,
					isActive: other.value === language,
				})),
			),
			language === "node" ? installation(values.publicUrl) : null,
			html`<div class="columns"><div class="stack-tight"><h3>Sign a request to us</h3>${codeBlock(
				fillIn(readExample(language, "sender"), values),
				`Sign a request, ${label}`,
				codeLanguageOf(language),
			)}</div><div class="stack-tight"><h3>Verify a callback from us</h3>${codeBlock(
				fillIn(readExample(language, "receiver"), values),
				`Verify a callback, ${label}`,
				codeLanguageOf(language),
			)}</div></div>`,
			more(
				"The pixel for your thank-you page",
				html`<p class="small soft">Let your shop write each order's own id and amount in place of <code>ORDER_ID</code> and <code>AMOUNT</code>; pasted as it is, the call is refused. Anyone can call the pixel, so a pixel call by itself proves nothing: confirm each order with a signed request from your server.</p>${codeBlock(pixelSnippet(values), "The pixel, HTML", "html")}`,
			),
		),
	});
}

/** The other languages need nothing but themselves. */
function installation(publicUrl: string): Html {
	const [{ sha256 }] = DOWNLOADS;
	return html`<div class="stack-tight"><p class="small soft">Install the library from this service first. SHA-256 <code class="break">${sha256}</code>. <a href="${DOWNLOADS_PATH}">All checksums</a></p>${codeBlock(`npm install ${downloadUrl(publicUrl)}`, "the command to install the library")}</div>`;
}

export interface SnippetValues extends ExampleValues {
	programId: string;
}

export function parseLanguage(text: string | undefined): ExampleLanguage {
	return EXAMPLE_LANGUAGES.find(({ value }) => value === text)?.value ?? "node";
}

/** For the shop's thank-you page: the browser reports, the shop's server confirms. */
export function pixelSnippet({ publicUrl, programId }: SnippetValues): string {
	return `<img src="${publicUrl}/pixel/${programId}.gif?orderId=ORDER_ID&amp;basketValue=AMOUNT" width="1" height="1" alt="">
`;
}
