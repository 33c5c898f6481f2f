// Shows the page /account/authenticator, which has the QR code and the backup codes once, and asks for a code to prove
// that the app works.

import { renderSVG } from "uqr";
import { isAuthenticatorRequired } from "../../domain/roles.ts";
import {
	type AuthenticatorOwner,
	type AuthenticatorSetup,
	beginAuthenticator,
	confirmAuthenticator,
	removeAuthenticator,
} from "../../people/authenticator.ts";
import { titleOf } from "../document.ts";
import { declareForm, HIDDEN } from "../form.ts";
import {
	actorOf,
	answerPage,
	handOnCookies,
	leadTo,
	viewerOf,
	type WebContext,
	type WebDeps,
} from "../page.ts";
import { ACCOUNT_PATH, AUTHENTICATOR_PATH, START_PATH } from "../paths.ts";
import * as ui from "../ui.ts";
import { type Content, html } from "../ui.ts";
import { AUTHENTICATOR_FORM, authenticatorStart, showAccount } from "./account-page.ts";

/** Address of the section about the authenticator on the account page. */
const SECTION = `${ACCOUNT_PATH}#authenticator`;
const TITLE = "Set up the authenticator";
const QR_PIXELS = 200;

const CONFIRM_FORM = declareForm({
	/**
	 * Hidden fields that hold the new key and the backup codes, so that the page can show them again after a
	 * mistyped code.
	 */
	uri: HIDDEN,
	backupCodes: HIDDEN,
	code: {
		label: "Code",
		hint: "Six digits, as the app shows them now.",
		autocomplete: "one-time-code",
		inputMode: "numeric",
		isMono: true,
		isRequired: true,
	},
});

export async function showSetUp(c: WebContext): Promise<Response> {
	return viewerOf(c).awaitsAuthenticator ? showRequiredSetUp(c) : c.redirect(SECTION, 303);
}

/**
 * Starts the set-up. It answers with the page instead of a redirect, because the secret and the codes are
 * shown only once.
 */
export async function beginSetUp(c: WebContext, deps: WebDeps): Promise<Response> {
	const { currentPassword } = await AUTHENTICATOR_FORM.read(c);
	const viewer = viewerOf(c);
	const issuer = titleOf(c.get("network"));
	const begun = await beginAuthenticator(deps, ownerOf(c), currentPassword, c.get("visitor"), issuer);
	if (begun.ok) return showKey(c, begun.value);
	return AUTHENTICATOR_FORM.refuse(c, begun, () =>
		viewer.awaitsAuthenticator ? showRequiredSetUp(c) : showAccount(c, deps),
	);
}

export async function confirmSetUp(c: WebContext, deps: WebDeps): Promise<Response> {
	const { code, uri, backupCodes } = await CONFIRM_FORM.read(c);
	const viewer = viewerOf(c);
	const confirmed = await confirmAuthenticator(deps, ownerOf(c), code, c.get("visitor"));
	if (!confirmed.ok) {
		const setup = isOwnUri(uri) ? { uri, backupCodes: backupCodes.split(" ") } : undefined;
		return CONFIRM_FORM.refuse(c, confirmed, () => showKey(c, setup), {});
	}
	handOnCookies(c, confirmed.value);
	return leadTo(
		c,
		viewer.awaitsAuthenticator ? START_PATH : SECTION,
		"The authenticator is on. Signing in now needs its code, too, and all your other sessions have ended.",
	);
}

/**
 * Returns whether an address in a form has the shape and the length of the addresses that we make. A browser may
 * change anything before it sends the form back, and a QR code holds no more than 2,953 bytes.
 */
function isOwnUri(uri: string): boolean {
	return (
		uri.length <= MAX_URI_LENGTH &&
		/^otpauth:\/\/totp\/[^?#]+\?secret=[A-Z2-7]{32}&digits=6&period=30&issuer=[^&#]+$/.test(uri)
	);
}

const MAX_URI_LENGTH = 2_900;

export async function turnOffAuthenticator(c: WebContext, deps: WebDeps): Promise<Response> {
	const { currentPassword: password, code } = await AUTHENTICATOR_FORM.read(c);
	const viewer = viewerOf(c);
	const off = await removeAuthenticator(deps, ownerOf(c), { password, code }, c.get("visitor"));
	if (!off.ok) return AUTHENTICATOR_FORM.refuse(c, off, () => showAccount(c, deps), {});
	handOnCookies(c, off.value);
	if (!isAuthenticatorRequired(deps.staffAuthenticator, viewer.kind)) {
		return leadTo(c, SECTION, "The authenticator is off. Signing in needs the password alone.");
	}
	const text = "The old authenticator is removed. Set up the new one now.";
	return leadTo(c, AUTHENTICATOR_PATH, text, "info");
}

function ownerOf(c: WebContext): AuthenticatorOwner {
	return { ...actorOf(c), email: viewerOf(c).email };
}

/**
 * Shows the first step of the set-up to staff for whom an authenticator is required. Until they finish it,
 * every other page redirects them here.
 */
function showRequiredSetUp(c: WebContext): Promise<Response> {
	return answerPage(c, {
		title: TITLE,
		active: "account",
		body: html`${ui.pageHeader({
			title: TITLE,
			hint: "Staff of this network must sign in with a code from an authenticator app. Set yours up to continue.",
		})}<div class="stack">${ui.section({
			id: "authenticator",
			title: "Enter your password first",
			hint: "You need an authenticator app, on your phone or in your password manager.",
			body: ui.padded(authenticatorStart(c)),
		})}</div>`,
	});
}

/**
 * Shows the QR code and the backup codes, and asks for a code. `setup` is undefined if the form did not come from our
 * page.
 */
function showKey(c: WebContext, setup: AuthenticatorSetup | undefined): Promise<Response> {
	return answerPage(c, {
		title: TITLE,
		active: "account",
		body: html`${ui.pageHeader({ title: TITLE, hint: "It is turned on once you have entered a code." })}<div class="stack">${
			setup === undefined ? null : keySections(setup, titleOf(c.get("network")))
		}${confirmSection(c, setup)}</div>`,
	});
}

function keySections({ uri, backupCodes }: AuthenticatorSetup, network: string): Content[] {
	const key = new URL(uri).searchParams.get("secret") ?? "";
	return [
		ui.section({
			id: "scan",
			title: `1. Add ${network} to your app`,
			hint: "Scan this with any authenticator app, or type in the key.",
			body: ui.padded(
				html`<p><img src="${qrCode(uri)}" alt="QR code that holds the key below" width="${QR_PIXELS}" height="${QR_PIXELS}"></p>`,
				html`<p>${ui.copyable(key, "the key")}</p>`,
			),
		}),
		ui.section({
			id: "backup",
			title: "2. Save your backup codes",
			hint: "Each works once, for when you don't have your phone. They are not shown again.",
			body: ui.padded(ui.codeBlock(backupCodes.join("\n"), "Backup codes")),
		}),
	];
}

function confirmSection(c: WebContext, setup: AuthenticatorSetup | undefined): Content {
	// A person who must have an authenticator cannot postpone it, and can only start over.
	const isLaterPossible = setup !== undefined && !viewerOf(c).awaitsAuthenticator;
	const away = { label: isLaterPossible ? "Not now" : "Start over", href: AUTHENTICATOR_PATH };
	return ui.section({
		id: "confirm",
		title: setup === undefined ? "Enter the code it shows" : "3. Enter the code it shows",
		body: ui.padded(
			CONFIRM_FORM.show(c, {
				action: `${AUTHENTICATOR_PATH}/confirm#confirm`,
				values: { uri: setup?.uri, backupCodes: setup?.backupCodes.join(" ") },
				send: html`<div class="row">${ui.button({ label: "Turn on", tone: "primary" })}${ui.linkButton({ ...away, tone: "quiet" })}</div>`,
			}),
		),
	});
}

/**
 * Returns the QR code as the address of an image. Inline SVG would need style attributes, which our content
 * security policy forbids.
 */
function qrCode(text: string): string {
	return `data:image/svg+xml;base64,${Buffer.from(renderSVG(text)).toString("base64")}`;
}
