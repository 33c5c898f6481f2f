// Lists the public documents. Routes, the menu of the documentation, the search, links between documents, the Markdown
// pages, /llms.txt and /llms-full.txt all follow from this list. To publish another document, add it here and run `npm
// run docs`, which renders it.

import * as paths from "../paths.ts";

/** Groups of the menu, each for one kind of reader. */
export const GUIDES = [
	{ name: "start", label: "Start" },
	{ name: "developer", label: "Shop's developer" },
	{ name: "owner", label: "Shop owner" },
	{ name: "partner", label: "Partner" },
	{ name: "manager", label: "Network's manager" },
] as const;

export type GuideName = (typeof GUIDES)[number]["name"];

export interface PublicDocument {
	/** Address of the page. Its Markdown is at the same address with ".md" after it. */
	path: string;
	/** Group of the menu that lists the page. The first page of a group is the one with which its readers begin. */
	guide: GuideName;
	/** Label of the page in the menu. */
	label: string;
	/** File in the repository. Links to this file from other documents lead to the page. */
	file: string;
	/** Sentence that tells a program what the document is about. */
	summary: string;
	/** Kinds of people for whose programs the document is written. */
	readers:
		| "everybody"
		| "shops"
		| "shop owners"
		| "shop owners and the network's staff"
		| "partners"
		| "shops and partners"
		| "the network's staff";
	/** True if the document is only about programs in JavaScript. */
	isForJavaScript?: true;
}

export const PUBLIC_DOCUMENTS: readonly PublicDocument[] = [
	{
		path: paths.DOCS_PATH,
		guide: "start",
		label: "Start",
		file: "docs/start.md",
		summary: "Which pages are for shops, their developers, partners and the network.",
		readers: "everybody",
	},
	{
		path: paths.WORDS_PATH,
		guide: "start",
		label: "Words of other networks",
		file: "docs/words.md",
		summary: "Words of other affiliate networks, such as EPC and publisher, and what they are called here.",
		readers: "everybody",
	},
	{
		path: paths.QUICK_START_PATH,
		guide: "developer",
		label: "Quick start",
		file: "docs/quick-start.md",
		summary: "From an API key to the first callback on a developer's machine, with the JavaScript library.",
		readers: "shops",
	},
	{
		path: paths.REPORT_SALES_PATH,
		guide: "developer",
		label: "Report your sales",
		file: "docs/report-sales.md",
		summary:
			"Complete programs in eight languages that report a sale, what each answer asks for, the outbox, comparing the books.",
		readers: "shops",
	},
	{
		path: paths.ORDER_TO_MONEY_PATH,
		guide: "developer",
		label: "From order to money",
		file: "docs/order-to-money.md",
		summary:
			"What basketValue is, when to approve, reject, reverse or refund, currencies, order states of shop systems.",
		readers: "shops",
	},
	{
		path: paths.CLICK_IDS_PATH,
		guide: "developer",
		label: "Click IDs and coupon codes",
		file: "docs/click-ids.md",
		summary:
			"Keeping the click ID of a partner's link in eight languages, headless shops, who is credited for a sale.",
		readers: "shops",
	},
	{
		path: paths.CALLBACK_FORMAT_PATH,
		guide: "developer",
		label: "What a callback contains",
		file: "docs/callbacks.md",
		summary: "The callback's headers, body and signature, test conversions, and all limits.",
		readers: "shops",
	},
	{
		path: paths.RULES_PATH,
		guide: "developer",
		label: "Rules for receivers",
		file: "docs/rules.md",
		summary: "Eight rules for receivers, with complete programs in eight languages.",
		readers: "shops",
	},
	{
		path: paths.RETRIES_PATH,
		guide: "developer",
		label: "Retries and resends",
		file: "docs/retries.md",
		summary:
			"What follows from each answer of a receiver, the retry calendar, repeats and order, work that fails.",
		readers: "shops",
	},
	{
		path: paths.PIXEL_PATH,
		guide: "developer",
		label: "The pixel",
		file: "docs/pixel.md",
		summary: "What a pixel is worth, how to place it in four shop systems, and its refusals.",
		readers: "shops",
	},
	{
		path: paths.TROUBLESHOOTING_PATH,
		guide: "developer",
		label: "Find what went wrong",
		file: "docs/troubleshooting.md",
		summary:
			"Symptoms of failing callbacks and requests, each with its cause and cure, and how to check a signature.",
		readers: "shops",
	},
	{
		path: paths.GO_LIVE_PATH,
		guide: "developer",
		label: "Go live",
		file: "docs/go-live.md",
		summary: "A checklist for the first real sales, and how to replace the signing secret.",
		readers: "shops",
	},
	{
		path: paths.API_REFERENCE_PATH,
		guide: "developer",
		label: "API reference",
		file: "docs/api.md",
		summary: "How a request is signed, every call of a shop's server with its fields, and every refusal.",
		readers: "shops",
	},
	{
		path: paths.LIBRARY_PATH,
		guide: "developer",
		label: "JavaScript library",
		file: "receiver/README.md",
		summary: "The package @ringback/receiver: receiver, client and the adapters for frameworks.",
		readers: "shops",
		isForJavaScript: true,
	},
	{
		path: paths.VENDURE_PATH,
		guide: "developer",
		label: "Vendure plugin",
		file: "integrations/vendure/README.md",
		summary: "The plugin that connects a Vendure shop: install, options, click IDs, what needs a person.",
		readers: "shops",
		isForJavaScript: true,
	},
	{
		path: paths.PROBLEMS_PATH,
		guide: "developer",
		label: "Problems",
		file: "docs/problems.md",
		summary: "Every fault code with its meaning and the first thing to do. Each code has a page of its own.",
		readers: "shops and partners",
	},
	{
		path: paths.DOWNLOADS_PATH,
		guide: "developer",
		label: "Downloads",
		file: "docs/downloads.md",
		summary: "Where the library and the Vendure plugin are installed from, and their checksums.",
		readers: "shops",
	},
	{
		path: paths.OWNER_GUIDE_PATH,
		guide: "owner",
		label: "For shop owners",
		file: "docs/shop-owner.md",
		summary: "What a shop's owner sees, decides and owes, and what to do when something is wrong.",
		readers: "shop owners",
	},
	{
		path: paths.PARTNER_GUIDE_PATH,
		guide: "partner",
		label: "For partners",
		file: "docs/partner.md",
		summary: "How a partner makes links, what counts, how and when a partner is paid.",
		readers: "partners",
	},
	{
		path: paths.PARTNER_CALLBACKS_GUIDE_PATH,
		guide: "partner",
		label: "Callbacks to partners",
		file: "docs/partner-callbacks.md",
		summary: "Callbacks to a partner's server or tracker: events, macros, fields and signature.",
		readers: "partners",
	},
	{
		path: paths.PARTNER_API_DOCS_PATH,
		guide: "partner",
		label: "Partners' API",
		file: "docs/partner-api.md",
		summary:
			"Tokens of partners, and every call with which a partner's program reads sales, totals and statements and creates links.",
		readers: "partners",
	},
	{
		path: paths.MANAGER_GUIDE_PATH,
		guide: "manager",
		label: "For the network's manager",
		file: "docs/manager.md",
		summary: "What the network's staff see and do, how partners are paid month by month.",
		readers: "the network's staff",
	},
	{
		path: paths.PROGRAMME_PARTNERS_GUIDE_PATH,
		guide: "manager",
		label: "Programmes that credit partners",
		file: "docs/partners.md",
		summary: "Setting up a programme for partners, ending a partnership, commission and network fee.",
		readers: "shop owners and the network's staff",
	},
	{
		path: paths.NETWORK_API_DOCS_PATH,
		guide: "manager",
		label: "Network's API",
		file: "docs/network-api.md",
		summary:
			"Tokens of the network, the conventions, and every call with which the network's programs read and administer.",
		readers: "the network's staff",
	},
];

export function markdownPath(path: string): string {
	return `${path}.md`;
}
