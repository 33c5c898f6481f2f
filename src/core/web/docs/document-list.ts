// The list of the public documents. Routes, the menu of the documentation, the search, links between documents, the
// Markdown pages, /llms.txt and /llms-full.txt all follow from it. To publish another document, add it here and run
// `npm run docs`, which renders it.

import * as paths from "../paths.ts";

export interface PublicDocument {
	/** Address of the page. Its Markdown is at the same address with ".md" after it. */
	path: string;
	/** Name in the menu. */
	label: string;
	/** File in the repository. Links to it from other documents lead to the page. */
	file: string;
	/** Sentence that tells a program what it finds in the document. */
	summary: string;
	/** People for whose programs the document is written. */
	readers: "shops" | "partners" | "shops and partners" | "the network's staff";
	/** True if the document is only about programs in JavaScript. */
	isForJavaScript?: true;
}

export const PUBLIC_DOCUMENTS: readonly PublicDocument[] = [
	{
		path: paths.DOCS_PATH,
		label: "Receiver guide",
		file: "docs/receiver-guide.md",
		summary:
			"Quick start, the callback's headers and body, the rules for receivers with complete programs in eight languages, retries, the pixel.",
		readers: "shops",
	},
	{
		path: paths.ORDER_TO_MONEY_PATH,
		label: "From order to money",
		file: "docs/order-to-money.md",
		summary:
			"What basketValue is, when to approve, reject, reverse or refund, coupon codes, currencies, order states of shop systems, who retries what.",
		readers: "shops",
	},
	{
		path: paths.API_REFERENCE_PATH,
		label: "API reference",
		file: "docs/api.md",
		summary: "How a request is signed, every call of a shop's server with its fields, and every refusal.",
		readers: "shops",
	},
	{
		path: paths.LIBRARY_PATH,
		label: "JavaScript library",
		file: "receiver/README.md",
		summary: "The package @ringback/receiver: receiver, client and the adapters for frameworks.",
		readers: "shops",
		isForJavaScript: true,
	},
	{
		path: paths.VENDURE_PATH,
		label: "Vendure plugin",
		file: "integrations/vendure/README.md",
		summary: "The plugin that connects a Vendure shop: install, options, click IDs, what needs a person.",
		readers: "shops",
		isForJavaScript: true,
	},
	{
		path: paths.PARTNER_DOCS_PATH,
		label: "Partners",
		file: "docs/partners.md",
		summary: "Partner links, click IDs and coupon codes, and who is credited for a sale.",
		readers: "shops and partners",
	},
	{
		path: paths.PARTNER_API_DOCS_PATH,
		label: "Partners' API",
		file: "docs/partner-api.md",
		summary:
			"Tokens of partners, and every call with which a partner's program reads sales, totals and statements and creates links.",
		readers: "partners",
	},
	{
		path: paths.NETWORK_API_DOCS_PATH,
		label: "Network's API",
		file: "docs/network-api.md",
		summary:
			"Tokens of the network, the conventions, and every call with which the network's programs read and administer.",
		readers: "the network's staff",
	},
	{
		path: paths.PROBLEMS_PATH,
		label: "Problems",
		file: "docs/problems.md",
		summary: "Every fault code with its meaning and the first thing to do. Each code has a page of its own.",
		readers: "shops and partners",
	},
	{
		path: paths.DOWNLOADS_PATH,
		label: "Downloads",
		file: "docs/downloads.md",
		summary: "Where the library and the Vendure plugin are installed from, and their checksums.",
		readers: "shops",
	},
];

/** Returns the path of a page's Markdown. */
export function markdownPath(path: string): string {
	return `${path}.md`;
}
