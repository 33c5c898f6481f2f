// Shows the tab "Keys and snippets". It has the API keys and the signing secret of a shop, each shown once, and code
// that uses them in eight languages.

import { findLandingHosts } from "#modules/partners/store/landing-hosts.ts";
import { showKey } from "../../domain/action.ts";
import { describeBasketValue } from "../../domain/basket-rule.ts";
import { KEY_RIGHT_WORDS, type KeyRight, keyRightsOf } from "../../domain/roles.ts";
import { issueKey, revokeKey } from "../../programmes/keys.ts";
import { type ListedKey, listApiKeys } from "../../store/queries/keys.ts";
import { type Download, downloadUrl, LIBRARY } from "../downloads.ts";
import { EXAMPLE_LANGUAGES, type ExampleValues, exampleBlock, parseLanguage } from "../examples.ts";
import { readTextFields } from "../form.ts";
import { API_KEY_VARIABLE, SECRET_VARIABLE } from "../listen-command.ts";
import { actorOf, flashAt, may, programmeOf, standingOf, type WebContext, type WebDeps } from "../page.ts";
import {
	CLICK_IDS_PATH,
	DOWNLOADS_PATH,
	keysPath,
	ORDER_TO_MONEY_PATH,
	RULES_PATH,
	withQuery,
} from "../paths.ts";
import * as ui from "../ui.ts";
import { type Content, type Html, html } from "../ui.ts";
import { answerTab, type FormPart, finish, queryHere } from "./frame.ts";
import { type Issued, issuedOnce, prepareNext, secretSection } from "./secret-section.ts";

const MAX_REVOKED_SHOWN = 5;

type KeysView = Awaited<ReturnType<typeof readKeys>>;

async function readKeys(c: WebContext, deps: WebDeps, issued: Issued | null) {
	const programme = programmeOf(c);
	const { db } = deps.store;
	return {
		/** Path of the tab, with which the paths of its forms begin. */
		path: keysPath(programme.public_id),
		/** Query of the address, which contains the language of the snippets. */
		query: queryHere(c),
		/** True if the reader may change the integration. Other readers see no buttons. */
		mayIntegrate: may(c, "integrate"),
		/** Rights that the reader may give to a new key. */
		rights: keyRightsOf(standingOf(c)),
		isStaff: standingOf(c) === "staff",
		keys: await listApiKeys(db, programme.id, MAX_REVOKED_SHOWN),
		issued,
	};
}

export async function showKeys(
	c: WebContext,
	deps: WebDeps,
	issued: Issued | null = null,
): Promise<Response> {
	const view = await readKeys(c, deps, issued);
	const { publicUrl, network, store } = deps;
	const programme = programmeOf(c);
	const { id, public_id: programId, click_parameter: parameter, click_days: days } = programme;
	// The snippet for click IDs is shown even before staff turn crediting on. From then on, a sale without a
	// click ID credits nobody, so the shop must send click IDs in time.
	const hasPartners = programme.credits_partners === 1 || (await findLandingHosts(store.db, [id])).size > 0;
	const basketValue = describeBasketValue(programme.basket_rule, programme.basket_note);
	const click = { parameter, days };
	const values = { publicUrl, brand: network.face.brand, programId, click, basketValue };
	return answerTab(c, {
		tab: "keys",
		hint: "Your server signs its requests and checks our callbacks with these. The snippets show how.",
		body: [
			keysSection(view, flashAt(c, "keys")),
			await secretSection(c, deps, issued !== null && issued.key === null ? issued.secret : null),
			snippetsSection(view.path, c.req.query("lang"), values),
			hasPartners ? partnerLinksSection(c.req.query("lang"), values) : null,
		],
	});
}

function keysSection(view: KeysView, message: Html | null): Html {
	const { path, query, issued, keys, mayIntegrate, rights } = view;
	const isNext = !keys.some((key) => key.revoked_at_ms === null);
	const form = ui.postForm({
		action: `${path}${query}#keys`,
		className: "row-end",
		body: html`${ui.textField({
			name: "name",
			id: "key-name",
			label: "Name of the new key (optional)",
			placeholder: "Shop server",
			autocomplete: "off",
		})}${
			rights.length < 2
				? null
				: ui.selectField({
						name: "right",
						id: "key-right",
						label: "What the key may do",
						options: rights.map((value) => ({ value, label: RIGHT_OPTIONS[value] })),
					})
		}${ui.button({ label: "Issue API key", ...(isNext ? { tone: "primary" } : {}) })}`,
	});
	return ui.section({
		id: "keys",
		title: "API keys",
		hint: "The API key identifies your programme. The secret signs your requests and our callbacks. Both are shown once.",
		message,
		body: html`${issued === null || issued.key === null ? null : ui.padded(issuedOnce(issued))}${
			mayIntegrate
				? ui.padded(
						form,
						rights.includes("decide")
							? null
							: html`<p class="small soft">A key that you issue reports sales, refunds and reversals. To approve and reject over the API, ask an owner of this programme to issue the key.</p>`,
					)
				: null
		}${keyTable(view)}`,
	});
}

const RIGHT_OPTIONS: Readonly<Record<KeyRight, string>> = {
	decide: "Report sales, refunds and reversals, approve and reject",
	report: "Report sales, refunds and reversals only",
};

/** Returns the issuer of a key. Shops see only that the network issued the key, but not which member of staff. */
function issuerOf({ issuerEmail, issuerKind }: ListedKey, isStaff: boolean): Content {
	if (issuerEmail === null) return "issuer not on record";
	return issuerKind === "staff" && !isStaff ? "by the network" : html`by ${ui.emailText(issuerEmail)}`;
}

function keyTable({ keys, path, query, mayIntegrate, isStaff }: KeysView): Html {
	return ui.dataTable({
		caption: "API keys, one per row",
		rows: keys,
		empty: ui.emptyState({
			title: "No API key yet",
			text: "Your first key comes with a signing secret. Without a secret no callback is sent.",
		}),
		stacks: true,
		columns: [
			{ title: "Name", namesRow: true, cell: ({ name }) => html`<span class="break">${name}</span>` },
			{ title: "Key", cell: ({ hint }) => html`<code>${showKey(hint)}</code>` },
			{ title: "Right", cell: ({ key_right: right }) => KEY_RIGHT_WORDS[right] },
			{
				title: "Issued",
				cell: (key) =>
					html`${ui.timeTag(key.created_at_ms)}<span class="secondary">${issuerOf(key, isStaff)}</span>`,
			},
			{
				title: "Last used",
				cell: ({ last_used_at_ms: atMs }) =>
					atMs === null ? html`<span class="faint">never</span>` : ui.timeTag(atMs),
			},
			{
				title: "State",
				cell: (key) =>
					key.revoked_at_ms === null
						? ui.badge("good", "In use")
						: html`${ui.badge("plain", "Revoked")} <span class="small faint">${ui.timeTag(key.revoked_at_ms)}</span>`,
			},
			{
				title: "Revoke",
				isTitleHidden: true,
				isNumber: true,
				cell: ({ name, hint, public_id: keyId, revoked_at_ms: revokedAtMs }) =>
					revokedAtMs !== null || !mayIntegrate
						? null
						: ui.buttonForm({
								action: `${path}/${keyId}/revoke${query}`,
								className: "",
								label: "Revoke",
								tone: "danger",
								isSmall: true,
								confirm: `Revoke the key ${name} (${showKey(hint)})? Requests with it are refused from this moment on.`,
								ariaLabel: `Revoke the key that ends in ${hint}`,
							}),
			},
		],
	});
}

// Values for the code snippets, which are the files of examples/ for both directions in each language.

interface SnippetValues extends Required<ExampleValues> {
	programId: string;
	/** Sentence that says what the basket value of this programme contains. */
	basketValue: string;
}

export function snippetsSection(path: string, asked: string | undefined, values: SnippetValues): Html {
	const language = parseLanguage(asked);
	return ui.section({
		id: "snippets",
		title: "Ready snippets",
		hint: html`With this programme's values. Put the key into <code>${API_KEY_VARIABLE}</code> and the secret into <code>${SECRET_VARIABLE}</code>. <a href="${RULES_PATH}">The rules they follow, and why</a>`,
		body: ui.padded(
			ui.tabs(
				"Language",
				EXAMPLE_LANGUAGES.map((other) => ({
					label: other.label,
					href: `${withQuery(path, { lang: other.value })}#snippets`,
					isActive: other.value === language.value,
				})),
			),
			html`<p class="small"><code>basketValue</code>: ${values.basketValue} <a href="${ORDER_TO_MONEY_PATH}">From order to money</a></p>`,
			// Only the snippets for Node need a library.
			language.value === "node"
				? html`<div class="stack-tight"><p class="small soft">Install the library from this service first. ${checksum(LIBRARY.current)} <a href="${DOWNLOADS_PATH}">All checksums</a></p>${ui.codeBlock(`npm install ${downloadUrl(values.publicUrl)}`, "the command to install the library")}</div>`
				: null,
			// Only one snippet is open. Side by side, both would be too narrow for their lines.
			ui.foldable(
				"Sign a request to us",
				true,
				exampleBlock(language, "sender", `Sign a request to us, ${language.label}`, values),
			),
			ui.foldable(
				"Verify a callback from us",
				false,
				exampleBlock(language, "receiver", `Verify a callback from us, ${language.label}`, values),
			),
			ui.more(
				"The pixel for your thank-you page",
				html`<p class="small soft">Your shop must write each order's ID and amount in place of <code>ORDER_ID</code> and <code>AMOUNT</code>. If you paste it unchanged, the call is refused. Anyone can call the pixel, so a pixel call by itself proves nothing. Confirm each order with a signed request from your server.</p>${ui.codeBlock(pixelSnippet(values), "The pixel, HTML", "HTML")}`,
			),
		),
	});
}

function checksum(download: Download | undefined): Html {
	return download === undefined
		? html`It has not been packed here yet.`
		: html`SHA-256 <code class="break">${download.sha256}</code>.`;
}

/** Shows the snippet that stores the click ID, in the same language as the other snippets. */
export function partnerLinksSection(asked: string | undefined, values: SnippetValues): Html {
	const { parameter, days } = values.click;
	const language = parseLanguage(asked);
	return ui.section({
		id: "partner-links",
		title: "Partner links",
		hint: html`A partner's link opens your shop with the click ID in the parameter <code>${parameter}</code>. Your server keeps it for ${ui.countOf(days, "day")} in a cookie that scripts cannot read, and sends it as <code>clickId</code> with the signed request of the sale. If the customer used a coupon code, send it as <code>couponCode</code>. <a href="${CLICK_IDS_PATH}#the-words-of-credit">What the answer says, and why</a>`,
		body: ui.padded(exampleBlock(language, "click", `Keep the click ID, ${language.label}`, values)),
	});
}

/**
 * Returns the pixel for the shop's thank-you page. With it the buyer's browser reports the sale, which the shop's
 * server confirms later.
 */
export function pixelSnippet({
	publicUrl,
	programId,
}: Pick<SnippetValues, "publicUrl" | "programId">): string {
	return `<img src="${publicUrl}/pixel/${programId}.gif?orderId=ORDER_ID&amp;basketValue=AMOUNT" width="1" height="1" alt="">
`;
}

function keysPart(c: WebContext): FormPart {
	return { path: keysPath(programmeOf(c).public_id), part: "keys" };
}

export async function issueApiKey(c: WebContext, deps: WebDeps): Promise<Response> {
	const typed = await readTextFields(c, ["name", "right"]);
	const issued = await issueKey(deps, programmeOf(c).public_id, actorOf(c), typed);
	return issued.ok ? showKeys(c, deps, issued.value) : finish(c, keysPart(c), issued, "");
}

export async function revokeApiKey(c: WebContext, deps: WebDeps): Promise<Response> {
	const { public_id: programmeId } = programmeOf(c);
	const revoked = await revokeKey(deps, programmeId, c.req.param("keyId") ?? "", actorOf(c));
	return finish(c, keysPart(c), revoked, "The key is revoked. Requests with it are refused from now on.");
}

export const issueNextSecret = prepareNext((c, deps, secret) => showKeys(c, deps, { key: null, secret }));
