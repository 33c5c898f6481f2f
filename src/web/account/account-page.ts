// /account: one's own settings, the address, the password, the authenticator and the sessions on one page.

import type { Fault, Result } from "../../domain/fault.ts";
import { MAIL_KINDS, type MailKind } from "../../domain/notice.ts";
import { isAuthenticatorRequired } from "../../domain/roles.ts";
import { type AuthSession, IDLE_SESSION_DAYS, MIN_PASSWORD_LENGTH } from "../../people/auth.ts";
import { sayWhatEnded } from "../../people/end-access.ts";
import {
	askForAddress,
	DATE_LOCALES,
	type SettingsInput,
	saveOwnSettings,
} from "../../people/own-settings.ts";
import { changePassword } from "../../people/passwords.ts";
import { revokeOtherSessions, revokeSession } from "../../people/sessions.ts";
import { makeConfirmationCookie, makeDeviceCookie } from "../../people/signed-cookies.ts";
import { findPersonById, type Person } from "../../store/queries/people.ts";
import { MAX_SESSION_DAYS } from "../../store/queries/sign-in.ts";
import { declareForm, type FormField, readTextFields } from "../form.ts";
import {
	answerPage,
	csrfField,
	makerOf,
	setFlash,
	viewerOf,
	type WebContext,
	type WebDeps,
} from "../page.ts";
import { ACCOUNT_PATH, AUTHENTICATOR_PATH } from "../paths.ts";
import { handOnCookies } from "../session.ts";
import * as ui from "../ui.ts";
import { type Content, type Html, html } from "../ui.ts";
import { signInOf } from "./enter-password-page.ts";

const BROWSERS_OWN = { value: "", label: "Same as my browser" };
const ZONES = ["UTC", ...Intl.supportedValuesOf("timeZone").filter((zone) => zone !== "UTC")];

/** With another id in each form of the page. */
function currentPassword(id: string): FormField {
	return {
		id,
		label: "Current password",
		type: "password",
		autocomplete: "current-password",
		isRequired: true,
	};
}

const SETTINGS_FORM = declareForm({
	name: { label: "Your name", autocomplete: "name", isRequired: true },
	zone: {
		label: "Time zone",
		options: [BROWSERS_OWN, ...ZONES.map((zone) => ({ value: zone, label: zone.replaceAll("_", " ") }))],
	},
	locale: {
		label: "Language of dates",
		options: [BROWSERS_OWN, ...Object.entries(DATE_LOCALES).map(([value, label]) => ({ value, label }))],
	},
});
const EMAIL_FORM = declareForm({
	email: { label: "New email", type: "email", autocomplete: "off", isRequired: true },
	currentPassword: currentPassword("email-current"),
});
const PASSWORD_FORM = declareForm({
	currentPassword: currentPassword("password-current"),
	newPassword: {
		label: "New password",
		type: "password",
		autocomplete: "new-password",
		hint: `At least ${MIN_PASSWORD_LENGTH} characters. You stay signed in here, and are signed out everywhere else.`,
		isRequired: true,
		alsoCalled: ["password"],
	},
});
export const AUTHENTICATOR_FORM = declareForm({
	currentPassword: currentPassword("authenticator-current"),
	code: {
		id: "authenticator-code",
		label: "Code",
		hint: "The six digits the app shows now, or a backup code.",
		autocomplete: "one-time-code",
		isMono: true,
		isRequired: true,
	},
});

/** Which form of the page the fault is about. */
interface AccountFault {
	form: "settings" | "email" | "password" | "authenticator";
	fault: Fault;
	/** As sent, of the first two. */
	typed?: Partial<SettingsInput & { email: string }>;
}

export async function showAccount(c: WebContext, deps: WebDeps, wrong?: AccountFault): Promise<Response> {
	const { email, name } = viewerOf(c);
	const self = await selfOf(c, deps);
	const sessions = await deps.auth.listSessions(c.get("visitor"));
	const faultOf = (form: AccountFault["form"]) => (wrong?.form === form ? wrong.fault : undefined);
	return answerPage(c, {
		title: "Account",
		active: "account",
		status: wrong?.fault.httpStatus ?? 200,
		body: html`${ui.pageHeader({ title: "Account", hint: name === "" ? email : `${name}, ${email}` })}
			<div class="stack">
				${settingsSection(c, self, faultOf("settings"), wrong?.typed)}
				${emailSection(c, deps, self, faultOf("email"), wrong?.typed?.email)}
				<div class="columns">
					${passwordSection(c, faultOf("password"))}
					${authenticatorSection(c, deps, faultOf("authenticator"))}
				</div>
				${sessionsSection(c, sessions)}
			</div>`,
	});
}

export async function changeOwnPassword(c: WebContext, deps: WebDeps): Promise<Response> {
	const change = await PASSWORD_FORM.read(c);
	const { email } = viewerOf(c);
	const visitor = c.get("visitor");
	const changed = await changePassword(deps, makerOf(c), change, visitor);
	if (!changed.ok) return showAccount(c, deps, { form: "password", fault: changed.fault });
	handOnCookies(c, changed.value.setCookies);
	// The new password ended both of them; this browser is the person's own, and both passwords were given here.
	handOnCookies(c, [await makeDeviceCookie(deps, email), await makeConfirmationCookie(deps, signInOf(c))]);
	const said = sayWhatEnded(changed.value.ended);
	setFlash(c, "good", `Your password is changed.${said === null ? "" : ` ${said}.`}`);
	return c.redirect(ACCOUNT_PATH, 303);
}

function passwordSection(c: WebContext, fault: Fault | undefined): Html {
	const { fields, above } = PASSWORD_FORM.fill({}, fault);
	const body = html`${fields()}<div>${ui.button({ label: "Change password", tone: "primary" })}</div>`;
	return ui.section({
		id: "password",
		title: "Password",
		body: ui.padded(above, ui.postForm({ action: `${ACCOUNT_PATH}/password`, csrf: csrfField(c), body })),
	});
}

function authenticatorSection(c: WebContext, deps: WebDeps, fault: Fault | undefined): Html {
	const { hasAuthenticator, kind } = viewerOf(c);
	const isRequired = isAuthenticatorRequired(deps.staffAuthenticator, kind);
	const action = !hasAuthenticator ? SET_UP : isRequired ? REPLACE : TURN_OFF;
	return ui.section({
		id: "authenticator",
		title: "Authenticator",
		hint: "With it, signing in also needs a code from an app on your phone.",
		actions: hasAuthenticator ? ui.badge("good", "On") : ui.badge("plain", "Off"),
		body: ui.padded(
			hasAuthenticator && isRequired
				? html`<p>Staff of this network must have an authenticator. You can move it to a new phone, but not turn it off.</p>`
				: null,
			authenticatorForm(c, action, fault),
		),
	});
}

interface AuthenticatorAction extends ui.Button {
	action: string;
	asks: readonly ("currentPassword" | "code")[];
}

export const SET_UP: AuthenticatorAction = {
	action: AUTHENTICATOR_PATH,
	asks: ["currentPassword"],
	label: "Set up",
	tone: "primary",
};
const TURN_OFF: AuthenticatorAction = {
	action: `${AUTHENTICATOR_PATH}/off`,
	asks: ["currentPassword", "code"],
	label: "Turn off",
	tone: "danger",
	confirm: "Sign in with the password alone from now on?",
};
const REPLACE: AuthenticatorAction = {
	...TURN_OFF,
	action: `${AUTHENTICATOR_PATH}/replace`,
	label: "Set up on a new phone",
	confirm: "Remove the present authenticator and set up a new one?",
};

/** Also on the page that staff are led to who must have one. */
export function authenticatorForm(
	c: WebContext,
	{ action, asks, ...look }: AuthenticatorAction,
	fault: Fault | undefined,
): Html {
	const { fields, above } = AUTHENTICATOR_FORM.fill({}, fault, { shown: asks });
	const body = html`${fields()}<div>${ui.button(look)}</div>`;
	return html`${above}${ui.postForm({ action, csrf: csrfField(c), body })}`;
}

// Two sections of the account: who somebody is and how the pages write for them, and the address they sign in with.

const MAIL_WORDS: Readonly<Record<MailKind, string>> = {
	callbacks_failing: "Callbacks of my programmes are failing",
	callbacks_working_again: "They have recovered",
};

function settingsSection(
	c: WebContext,
	self: Person,
	fault: Fault | undefined,
	typed: Partial<SettingsInput> = {},
): Html {
	const { name, zone, locale } = { ...self, ...typed };
	const { fields, above } = SETTINGS_FORM.fill({ name, zone: zone ?? "", locale: locale ?? "" }, fault);
	const body = html`<div class="form-grid">${fields()}</div>${mailBoxes(self, typed.mails)}<div>${ui.button({ label: "Save settings", tone: "primary" })}</div>`;
	return ui.section({
		id: "settings",
		title: "Your settings",
		body: ui.padded(above, ui.postForm({ action: `${ACCOUNT_PATH}/settings`, csrf: csrfField(c), body })),
	});
}

/** Staff are mailed about no shop's callbacks. */
function mailBoxes(self: Person, typed: readonly MailKind[] | undefined): Content {
	if (self.kind === "staff") return null;
	const isOn = (kind: MailKind) => typed?.includes(kind) ?? self[`mails_${kind}`] === 1;
	return html`<fieldset class="stack-tight"><legend>Mail me when</legend>${MAIL_KINDS.map((kind) =>
		ui.checkbox({ name: "mails", value: kind, label: MAIL_WORDS[kind], isChecked: isOn(kind) }),
	)}<p class="small soft">As an owner or developer of a programme. Mails about changes to your account, keys and people are always sent.</p></fieldset>`;
}

function emailSection(
	c: WebContext,
	{ mails }: Pick<WebDeps, "mails">,
	self: Person,
	fault: Fault | undefined,
	typed = "",
): Html {
	const { fields, above } = EMAIL_FORM.fill({ email: typed }, fault);
	const body = html`<div class="form-grid">${fields()}</div>
		<p class="small soft">We send a link to the new address. Nothing changes until you open it. The old address is told.</p>
		<div>${ui.button({ label: "Change email" })}</div>`;
	return ui.section({
		id: "address",
		title: "Email",
		hint: html`You sign in with <strong class="break">${self.email}</strong>.`,
		body: ui.padded(
			above,
			mails.isOn
				? ui.postForm({ action: `${ACCOUNT_PATH}/email`, csrf: csrfField(c), body })
				: html`<p class="soft">No mail can be sent from here, so a new address cannot be confirmed. Ask the network's staff.</p>`,
		),
	});
}

// What the forms for one's own settings and address do.

export async function saveSettings(c: WebContext, deps: WebDeps): Promise<Response> {
	const read = await SETTINGS_FORM.read(c);
	const sent = (await c.req.parseBody({ all: true }))["mails"];
	const ticked: readonly unknown[] = Array.isArray(sent) ? sent : [sent];
	const self = await selfOf(c, deps);
	// Staff have no such boxes: what they had stays.
	const mails = MAIL_KINDS.filter((kind) =>
		self.kind === "staff" ? self[`mails_${kind}`] === 1 : ticked.includes(kind),
	);
	const typed = { ...read, mails };
	const saved = await saveOwnSettings(deps, makerOf(c), self, typed);
	if (!saved.ok) return showAccount(c, deps, { form: "settings", fault: saved.fault, typed });
	setFlash(c, saved.value ? "good" : "info", saved.value ? "Saved." : "Nothing was changed.");
	return c.redirect(ACCOUNT_PATH, 303);
}

export async function askForEmail(c: WebContext, deps: WebDeps): Promise<Response> {
	const typed = await EMAIL_FORM.read(c);
	const visitor = c.get("visitor");
	const self = await selfOf(c, deps);
	const asked = await askForAddress(deps, makerOf(c), self, typed, visitor);
	if (!asked.ok) {
		const { email } = typed;
		return showAccount(c, deps, { form: "email", fault: asked.fault, typed: { email } });
	}
	setFlash(
		c,
		"good",
		`A mail is on its way to ${asked.value}. Open its link within an hour to confirm the address.`,
	);
	return c.redirect(ACCOUNT_PATH, 303);
}

async function selfOf(c: WebContext, { store }: WebDeps): Promise<Person> {
	const self = await findPersonById(store.db, viewerOf(c).personId);
	if (self === undefined) throw new Error("a session without a person");
	return self;
}

// Where a person is signed in, on their account page, and the buttons that end it.

function sessionsSection(c: WebContext, sessions: readonly AuthSession[]): Html {
	const ownId = c.get("sessionId");
	const others = sessions.filter(({ id }) => id !== ownId);
	const endOthers = ui.buttonForm({
		action: `${ACCOUNT_PATH}/sessions/end-others`,
		csrf: csrfField(c),
		label: "Sign out everywhere else",
		isSmall: true,
	});
	return ui.section({
		id: "sessions",
		title: "Where you are signed in",
		hint: `A session ends after ${IDLE_SESSION_DAYS} days without use, and ${MAX_SESSION_DAYS} days after signing in.`,
		...(others.length === 0 ? {} : { actions: endOthers }),
		body: ui.dataTable<AuthSession>({
			caption: "Sessions",
			rows: sessions,
			stacks: true,
			empty: null,
			columns: [
				{ title: "Browser", namesRow: true, cell: ({ userAgent }) => describeBrowser(userAgent) },
				{ title: "Address", cell: ({ address }) => html`<span class="mono">${address}</span>` },
				{ title: "Signed in", cell: ({ createdAtMs }) => ui.timeTag(createdAtMs) },
				{
					title: "End it",
					isTitleHidden: true,
					isNumber: true,
					cell: (session) => (session.id === ownId ? ui.badge("info", "This one") : endForm(c, session)),
				},
			],
		}),
	});
}

function endForm(c: WebContext, { id, userAgent }: AuthSession): Content {
	return ui.buttonForm({
		action: `${ACCOUNT_PATH}/sessions/end`,
		csrf: csrfField(c),
		hidden: { sessionId: id },
		label: "Sign out",
		isSmall: true,
		ariaLabel: `Sign out the session of ${describeBrowser(userAgent)}`,
	});
}

export async function endSession(c: WebContext, deps: WebDeps): Promise<Response> {
	const { sessionId } = await readTextFields(c, ["sessionId"]);
	const ended = await revokeSession(deps, viewerOf(c).personId, sessionId, c.get("visitor"));
	return answerEnded(c, ended, "The session has ended.");
}

export async function endOtherSessions(c: WebContext, deps: WebDeps): Promise<Response> {
	const ended = await revokeOtherSessions(deps, viewerOf(c).personId, c.get("visitor"));
	return answerEnded(c, ended, "All your other sessions have ended.");
}

function answerEnded(c: WebContext, ended: Result<true>, text: string): Response {
	if (ended.ok) setFlash(c, "good", text);
	else setFlash(c, "bad", ended.fault.detail);
	return c.redirect(`${ACCOUNT_PATH}#sessions`, 303);
}

/** In this order: Edge also calls itself Chrome, and Chrome also calls itself Safari. */
const BROWSERS: readonly (readonly [mark: RegExp, name: string])[] = [
	[/\bEdgA?\//, "Edge"],
	[/\bOPR\//, "Opera"],
	[/\bFirefox\/|\bFxiOS\//, "Firefox"],
	[/Chrome\/|\bCriOS\//, "Chrome"],
	[/\bSafari\//, "Safari"],
	[/^curl\//, "curl"],
];

const SYSTEMS: readonly (readonly [mark: RegExp, name: string])[] = [
	[/\biPhone\b|\biPad\b/, "iOS"],
	[/\bAndroid\b/, "Android"],
	[/\bWindows\b/, "Windows"],
	[/\bMac OS X\b/, "macOS"],
	[/\bLinux\b/, "Linux"],
];

/** A browser as people know it: "Firefox on Linux". Good enough to recognise one's own; nothing depends on it. */
export function describeBrowser(userAgent: string): string {
	const browser = BROWSERS.find(([mark]) => mark.test(userAgent))?.[1] ?? "Unknown browser";
	const system = SYSTEMS.find(([mark]) => mark.test(userAgent))?.[1];
	return system === undefined ? browser : `${browser} on ${system}`;
}
