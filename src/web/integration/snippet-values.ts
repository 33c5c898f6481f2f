// What the snippets are filled in with, and the languages they come in.

export const LANGUAGES = [
	{ value: "node", label: "Node" },
	{ value: "php", label: "PHP" },
	{ value: "python", label: "Python" },
	{ value: "curl", label: "curl + openssl" },
] as const;
export type Language = (typeof LANGUAGES)[number]["value"];

export const API_KEY_VARIABLE = "RINGBACK_API_KEY";
export const SECRET_VARIABLE = "RINGBACK_SIGNING_SECRET";

export interface SnippetValues {
	publicUrl: string;
	/** Names the headers: X-<brand>-Signature. */
	brand: string;
	programId: string;
}

export function parseLanguage(text: string | undefined): Language {
	return LANGUAGES.find(({ value }) => value === text)?.value ?? "node";
}

/** For the shop's thank-you page: the browser reports, the shop's server confirms. */
export function pixelSnippet({ publicUrl, programId }: SnippetValues): string {
	return `<img src="${publicUrl}/pixel/${programId}.gif?orderId=ORDER-1001&amp;basketValue=49.90" width="1" height="1" alt="">
`;
}
