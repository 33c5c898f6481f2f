// The API tokens of the network, for staff, and those of a partner, for its people. A new token is shown once, in the
// response to the form that issued it.

import { isExpired, NETWORK_TOKEN_RIGHTS, showToken, TOKEN_RIGHT_WORDS } from "#core/domain/api-token.ts";
import { type ListedToken, listApiTokens } from "#core/store/queries/api-tokens.ts";
import type { Partner } from "#core/store/tables/partners.ts";
import { declareForm } from "#core/web/form.ts";
import {
	actorOf,
	answerPage,
	leadTo,
	tellRefusal,
	usesCompanyAccount,
	viewerOf,
	type WebContext,
	type WebDeps,
} from "#core/web/page.ts";
import {
	FORGOT_PASSWORD_PATH,
	NETWORK_API_DOCS_PATH,
	NETWORK_TOKENS_PATH,
	PARTNER_API_DOCS_PATH,
	partnerApiPath,
} from "#core/web/paths.ts";
import * as ui from "#core/web/ui.ts";
import { type Html, html } from "#core/web/ui.ts";
import { issueToken, revokeToken } from "../use-cases/api-tokens.ts";

/** Maximum number of revoked and expired tokens in the list. */
const MAX_ENDED_SHOWN = 5;

const FORM = declareForm({
	name: {
		label: "Name of the new token",
		hint: "The system that uses it.",
		placeholder: "Portal",
		autocomplete: "off",
		isRequired: true,
	},
	right: {
		label: "What the token may do",
		options: NETWORK_TOKEN_RIGHTS.map((value) => ({
			value,
			label: value === "read" ? "Read everything" : "Read and change everything",
		})),
	},
	days: {
		label: "Expires",
		options: [
			{ value: "", label: "Never" },
			{ value: "30", label: "After 30 days" },
			{ value: "90", label: "After 90 days" },
			{ value: "365", label: "After a year" },
		],
	},
	currentPassword: {
		label: "Current password",
		type: "password",
		autocomplete: "current-password",
		isRequired: true,
	},
	code: {
		label: "Code",
		hint: "The six digits your authenticator shows now, or a backup code.",
		autocomplete: "one-time-code",
		isMono: true,
		isRequired: true,
	},
});

const OWN_PASSWORD = html`The password that you chose here, not that of the company's account. If you do not know it, <a href="${FORGOT_PASSWORD_PATH}">choose a new one</a>.`;

/** Shows the tokens. `issued` is a token that was just issued. */
export async function showTokens(c: WebContext, deps: WebDeps, issued?: string): Promise<Response> {
	const partner = partnerHere(c);
	const path = pathOf(partner);
	const nowMs = deps.clock.nowMs();
	const asked = partner === null ? (["name", "right", "days"] as const) : (["name", "days"] as const);
	const proof = ["currentPassword", ...(viewerOf(c).hasAuthenticator ? (["code"] as const) : [])] as const;
	const tokens = await listApiTokens(deps.store.db, partner?.id ?? null, {
		nowMs,
		maxEnded: MAX_ENDED_SHOWN,
	});
	const docs = partner === null ? NETWORK_API_DOCS_PATH : PARTNER_API_DOCS_PATH;
	const reach =
		partner === null
			? "Programs of the network read and administer with a token."
			: "A program reads sales, totals and statements with a token, and creates links.";
	return answerPage(c, {
		title: partner === null ? "API tokens" : "API",
		active: partner === null ? "network" : "partner-api",
		body: [
			ui.pageHeader({
				title: partner === null ? "API tokens" : "API",
				hint: html`${reach} <a href="${docs}">Documentation of the API</a>`,
			}),
			issued === undefined ? null : issuedOnce(issued),
			ui.section({
				id: "new",
				title: "New token",
				hint: "A token ends when your access ends. If you choose a new password, it ends unless you keep it. Enter your password again, so that nobody else issues a token on your open page.",
				body: ui.padded(
					FORM.show(c, {
						action: path,
						looks: usesCompanyAccount(c, deps) ? { currentPassword: { hint: OWN_PASSWORD } } : {},
						shown: [...asked, ...proof],
						rows: ({ fields }) =>
							html`<div class="form-grid">${fields(...asked)}</div><div class="form-grid">${fields(...proof)}</div>`,
						send: "Issue token",
					}),
				),
			}),
			ui.section({ id: "tokens", title: "Tokens", body: tokenTable(tokens, path, nowMs) }),
		],
	});
}

export async function issue(c: WebContext, deps: WebDeps): Promise<Response> {
	const { currentPassword: password, code, ...input } = await FORM.read(c);
	const actor = { ...actorOf(c), email: viewerOf(c).email };
	const proof = { password, code };
	const issued = await issueToken(deps, actor, partnerHere(c), input, proof, c.get("visitor"));
	// A code is not shown again, because it may have been used up.
	if (!issued.ok) return FORM.refuse(c, issued, () => showTokens(c, deps), input);
	return showTokens(c, deps, issued.value.token);
}

export async function revoke(c: WebContext, deps: WebDeps): Promise<Response> {
	const partner = partnerHere(c);
	const revoked = await revokeToken(deps, actorOf(c), partner, c.req.param("tokenId") ?? "");
	if (!revoked.ok) return tellRefusal(c, revoked, () => showTokens(c, deps));
	const { name } = revoked.value;
	return leadTo(c, pathOf(partner), `The token ${name} is revoked. Calls with it are refused from now on.`);
}

/** Returns the partner of the address, or null on the network's own page. */
function partnerHere(c: WebContext): Partner | null {
	return c.get("partner") ?? null;
}

function pathOf(partner: Partner | null): string {
	return partner === null ? NETWORK_TOKENS_PATH : partnerApiPath(partner.public_id);
}

function issuedOnce(token: string): Html {
	return ui.message(
		"good",
		html`<div class="stack-tight" data-shown-once><p><strong>Copy it now. This page will not show it again.</strong></p>${ui.copyable(token, "API token")}</div>`,
	);
}

function tokenTable(tokens: readonly ListedToken[], path: string, nowMs: number): Html {
	return ui.dataTable<ListedToken>({
		caption: "API tokens, one per row",
		rows: tokens,
		empty: ui.emptyState({
			title: "No API token yet",
			text: "Issue one for each system, so that each can be revoked on its own.",
		}),
		stacks: true,
		columns: [
			{ title: "Name", namesRow: true, cell: ({ name }) => html`<span class="break">${name}</span>` },
			{ title: "Token", cell: (token) => html`<code>${showToken(token)}</code>` },
			{ title: "Right", cell: ({ token_right: right }) => TOKEN_RIGHT_WORDS[right] },
			{
				title: "Issued",
				cell: ({ created_at_ms: atMs, issuerEmail }) =>
					html`${ui.timeTag(atMs)}<span class="secondary">by ${ui.emailText(issuerEmail)}</span>`,
			},
			{
				title: "Last used",
				cell: ({ last_used_at_ms: atMs }) =>
					atMs === null ? html`<span class="faint">never</span>` : ui.timeTag(atMs),
			},
			{ title: "State", cell: (token) => stateCell(token, nowMs) },
			{
				title: "Revoke",
				isTitleHidden: true,
				isNumber: true,
				cell: (token) => (isEnded(token, nowMs) ? null : revokeButton(token, path)),
			},
		],
	});
}

function revokeButton(token: ListedToken, path: string): Html {
	return ui.buttonForm({
		action: `${path}/${token.public_id}/revoke`,
		className: "",
		label: "Revoke",
		tone: "danger",
		isSmall: true,
		confirm: `Revoke the token ${token.name} (${showToken(token)})? Calls with it are refused from this moment on.`,
		ariaLabel: `Revoke the token that ends in ${token.hint}`,
	});
}

function isEnded(token: ListedToken, nowMs: number): boolean {
	return token.revoked_at_ms !== null || isExpired(token, nowMs);
}

function stateCell(token: ListedToken, nowMs: number): Html {
	const { revoked_at_ms: revokedAtMs, expires_at_ms: expiresAtMs } = token;
	const word = (badge: Html, atMs: number) =>
		html`${badge} <span class="small faint">${ui.timeTag(atMs)}</span>`;
	if (revokedAtMs !== null) return word(ui.badge("plain", "Revoked"), revokedAtMs);
	if (expiresAtMs === null) return ui.badge("good", "In use");
	if (isExpired(token, nowMs)) return word(ui.badge("plain", "Expired"), expiresAtMs);
	return word(ui.badge("good", "In use until"), expiresAtMs);
}
