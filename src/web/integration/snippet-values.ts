// What the ready snippets are filled in with, and which language is looked at.

import { EXAMPLE_LANGUAGES, type ExampleLanguage, type ExampleValues } from "../examples.ts";

export const API_KEY_VARIABLE = "RINGBACK_API_KEY";
export const SECRET_VARIABLE = "RINGBACK_SIGNING_SECRET";

export interface SnippetValues extends ExampleValues {
	programId: string;
}

export function parseLanguage(text: string | undefined): ExampleLanguage {
	return EXAMPLE_LANGUAGES.find(({ value }) => value === text)?.value ?? "node";
}

/** For the shop's thank-you page: the browser reports, the shop's server confirms. */
export function pixelSnippet({ publicUrl, programId }: SnippetValues): string {
	return `<img src="${publicUrl}/pixel/${programId}.gif?orderId=ORDER-1001&amp;basketValue=49.90" width="1" height="1" alt="">
`;
}
