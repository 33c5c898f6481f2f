// The page /account, on which people change their own settings, email address, password, authenticator and
// sessions.

import { MAIL_KINDS, NOTICE_KINDS } from "../../domain/notice.ts";
import { isAuthenticatorRequired } from "../../domain/roles.ts";
import { TIME_ZONES } from "../../domain/zone-day.ts";
import {
	IDLE_SESSION_DAYS,
	listOpenSessions,
	MIN_PASSWORD_LENGTH,
	revokeSessions,
} from "../../people/auth.ts";
import { sayWhatEnded } from "../../people/end-access.ts";
import { askForAddress, DATE_LOCALES, saveOwnSettings } from "../../people/own-settings.ts";
import { changePassword } from "../../people/passwords.ts";
import { listPartnersOf } from "../../store/queries/partner-people.ts";
import { findPersonById, type Person } from "../../store/queries/people.ts";
import { listProgrammesOf } from "../../store/queries/programme-people.ts";
import { MAX_SESSION_DAYS, type Session } from "../../store/queries/sessions.ts";
import { declareForm, type FormField, readTextFields, readUnticked } from "../form.ts";
import type { WebContext, WebDeps } from "../page.ts";
import * as page from "../page.ts";
import { ACCOUNT_PATH, AUTHENTICATOR_PATH, OWN_DATA_PATH } from "../paths.ts";
import * as ui from "../ui.ts";
import { type Content, type Html, html } from "../ui.ts";
import { endingTokens } from "./ending-tokens.ts";

const BROWSERS_OWN = { value: "", label: "Same as my browser" };

/** Returns a field for the current password. Several forms of the page have such a field, so each needs its own id. */
function currentPassword(id: string): FormField {
	const look = { type: "password", autocomplete: "current-password", isRequired: true } as const;
	return { id, label: "Current password", ...look };
}

const SETTINGS_FORM = declareForm({
	name: { label: "Your name", autocomplete: "name", isRequired: true },
	zone: {
		label: "Time zone",
		hint: "Lists that are filtered by days have the network's instead.",
		options: [BROWSERS_OWN, ...TIME_ZONES.map((zone) => ({ value: zone, label: zone.replaceAll("_", " ") }))],
	},
	locale: {
		label: "Language of dates and numbers",
		hint: "Files that you export follow it, too. Pages and mails are in English.",
		options: [BROWSERS_OWN, ...Object.entries(DATE_LOCALES).map(([value, label]) => ({ value, label }))],
	},
	callbacks_failing: { label: "Callbacks of my programmes are failing", isBox: true },
	callbacks_working_again: { label: "Callbacks of my programmes have recovered", isBox: true },
	decisions_waiting: { label: "Conversions of my programmes wait for a decision (on Mondays)", isBox: true },
	sales: {
		label: "Mails about my sales",
		hint: "They say what was recorded, approved, rejected and reversed, and why.",
		options: [
			{ value: "daily", label: "Daily summary" },
			{ value: "each", label: "For each sale (at most every ten minutes)" },
			{ value: "none", label: "None" },
		],
	},
	shops_failing: {
		label: "Callbacks to shops or partners are failing (at most one mail a day)",
		isBox: true,
	},
	own_failing: { label: "Callbacks to me as a partner are failing or have recovered", isBox: true },
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

export async function showAccount(c: WebContext, deps: WebDeps): Promise<Response> {
	const { email, name } = page.viewerOf(c);
	const self = await selfOf(c, deps);
	const sessions = await listOpenSessions(deps, page.viewerOf(c).personId);
	const tokens = await endingTokens(c, deps, self.id);
	return page.answerPage(c, {
		title: "Account",
		active: "account",
		body: html`${ui.pageHeader({ title: "Account", hint: name === "" ? email : `${name}, ${email}` })}
			<div class="stack">
				${settingsSection(c, self, await offeredMails(deps, self))}
				${emailSection(c, deps)}
				<div class="columns">
					${ui.section({
						id: "password",
						title: "Password",
						...(page.usesCompanyAccount(c, deps) ? { hint: ONLY_CONFIRMS } : {}),
						body: ui.padded(
							PASSWORD_FORM.show(c, {
								action: `${ACCOUNT_PATH}/password`,
								send: "Change password",
								rows: ({ fields }) => [fields(), tokens],
							}),
						),
					})}
					${authenticatorSection(c, deps)}
				</div>
				${sessionsSection(c, sessions)}
				${ownDataSection()}
			</div>`,
	});
}

const ONLY_CONFIRMS = "You sign in with the company's account. This password only confirms changes here.";

async function selfOf(c: WebContext, { store }: WebDeps): Promise<Person> {
	const self = await findPersonById(store.db, page.viewerOf(c).personId);
	if (self === undefined) throw new Error("a session without a person");
	return self;
}

/**
 * Returns the kinds of mail that the person may choose. Staff get mails about shops, and partners get mails about
 * sales.
 */
async function offeredMails({ store: { db } }: WebDeps, { id, kind }: Pick<Person, "id" | "kind">) {
	if (kind === "staff") return { forStaff: true, forProgrammes: false, forPartners: false };
	const forPartners = (await listPartnersOf(db, id)).length > 0;
	const forProgrammes = !forPartners || (await listProgrammesOf(db, id, 1)).length > 0;
	return { forStaff: false, forProgrammes, forPartners };
}

type OfferedMails = Awaited<ReturnType<typeof offeredMails>>;

function settingsSection(c: WebContext, self: Person, offered: OfferedMails): Html {
	const { name, zone, locale, mails_sales: sales } = self;
	const { forStaff, forProgrammes, forPartners } = offered;
	const mails = MAIL_KINDS.map((of) => [of, self[`mails_${of}`] === 1 ? "on" : ""]);
	const failing = self.mails_callbacks_failing === 1 ? "on" : "";
	return ui.section({
		id: "settings",
		title: "Your settings",
		body: ui.padded(
			SETTINGS_FORM.show(c, {
				action: `${ACCOUNT_PATH}/settings`,
				send: "Save settings",
				values: {
					...{ name, zone, locale, sales, shops_failing: failing, own_failing: failing },
					...Object.fromEntries(mails),
				},
				rows: ({ fields }) =>
					html`<div class="form-grid">${fields("name", "zone", "locale", ...(forPartners ? (["sales"] as const) : []))}</div>${
						forStaff
							? html`<fieldset class="stack-tight"><legend>Mail me when</legend>${fields("shops_failing")}</fieldset>`
							: null
					}${
						// A person of both a partner and a programme chooses for both at once, by the fields of programmes.
						forPartners && !forProgrammes
							? html`<fieldset class="stack-tight"><legend>Mail me when</legend>${fields("own_failing")}</fieldset>`
							: null
					}${
						forProgrammes
							? html`<fieldset class="stack-tight"><legend>Mail me when</legend>${fields(...MAIL_KINDS)}<p class="small soft">We send mails about callbacks to owners and developers of a programme, and mails about decisions to owners. Mails about changes to your account, keys and people are always sent.</p></fieldset>`
							: null
					}`,
			}),
		),
	});
}

export async function saveSettings(c: WebContext, deps: WebDeps): Promise<Response> {
	const typed = await SETTINGS_FORM.read(c);
	const self = await selfOf(c, deps);
	const { forStaff, forProgrammes, forPartners } = await offeredMails(deps, self);
	const mails = {
		...(forStaff ? { callbacks_failing: typed.shops_failing !== "" } : {}),
		...(forPartners && !forProgrammes
			? Object.fromEntries(NOTICE_KINDS.map((kind) => [kind, typed.own_failing !== ""]))
			: {}),
		...(forProgrammes ? Object.fromEntries(MAIL_KINDS.map((kind) => [kind, typed[kind] !== ""])) : {}),
	};
	// A form that was opened before the person joined a partner lacks this choice.
	const sales = forPartners && typed.sales !== "" ? typed.sales : undefined;
	const saved = await saveOwnSettings(deps, page.actorOf(c), { ...typed, mails, sales });
	if (!saved.ok) return SETTINGS_FORM.refuse(c, saved, () => showAccount(c, deps));
	if (!saved.value) return page.leadTo(c, ACCOUNT_PATH, "Nothing was changed.", "info");
	return page.leadTo(c, ACCOUNT_PATH, "Saved.");
}

function emailSection(c: WebContext, { mails }: WebDeps): Html {
	return ui.section({
		id: "address",
		title: "Email",
		hint: html`You sign in with <strong class="break">${page.viewerOf(c).email}</strong>.`,
		body: ui.padded(
			mails.isOn
				? EMAIL_FORM.show(c, {
						action: `${ACCOUNT_PATH}/email`,
						send: html`<p class="small soft">We send a link to the new address. Nothing changes until you open it. The old address gets a mail, too.</p><div>${ui.button({ label: "Change email" })}</div>`,
						rows: ({ fields }) => html`<div class="form-grid">${fields()}</div>`,
					})
				: html`<p class="soft">This service cannot send mail, so a new address cannot be confirmed. Ask the network's staff.</p>`,
		),
	});
}

export async function askForEmail(c: WebContext, deps: WebDeps): Promise<Response> {
	const typed = await EMAIL_FORM.read(c);
	const { email } = page.viewerOf(c);
	const asked = await askForAddress(deps, page.actorOf(c), email, typed, c.get("visitor"));
	if (!asked.ok) return EMAIL_FORM.refuse(c, asked, () => showAccount(c, deps));
	const text = `A mail is on its way to ${asked.value}. Open its link within an hour to confirm the address.`;
	return page.leadTo(c, ACCOUNT_PATH, text);
}

export async function changeOwnPassword(c: WebContext, deps: WebDeps): Promise<Response> {
	const change = await PASSWORD_FORM.read(c);
	const visitor = c.get("visitor");
	const keptTokens = await readUnticked(c);
	const changed = await changePassword(deps, page.actorOf(c), { ...change, keptTokens }, visitor);
	if (!changed.ok) return PASSWORD_FORM.refuse(c, changed, () => showAccount(c, deps));
	page.handOnCookies(c, changed.value.setCookies);
	const ended = sayWhatEnded(changed.value.value);
	return page.leadTo(c, ACCOUNT_PATH, `Your password is changed.${ended === null ? "" : ` ${ended}.`}`);
}

function authenticatorSection(c: WebContext, deps: WebDeps): Html {
	const { hasAuthenticator, kind } = page.viewerOf(c);
	const isRequired = isAuthenticatorRequired(deps.staffAuthenticator, kind);
	return ui.section({
		id: "authenticator",
		title: "Authenticator",
		hint: "When it is on, signing in also needs a code from an app on your phone.",
		actions: hasAuthenticator ? ui.badge("good", "On") : ui.badge("plain", "Off"),
		body: ui.padded(
			hasAuthenticator && isRequired
				? html`<p>Staff of this network must have an authenticator. You can move it to a new phone, but not turn it off.</p>`
				: null,
			hasAuthenticator ? authenticatorOff(c, isRequired) : authenticatorStart(c),
		),
	});
}

/**
 * Returns the form that starts the set-up of an authenticator. It is on the account page, and on the page
 * that staff see if they must set up an authenticator first.
 */
export function authenticatorStart(c: WebContext): Html {
	return AUTHENTICATOR_FORM.show(c, {
		action: AUTHENTICATOR_PATH,
		shown: ["currentPassword"],
		send: "Set up",
	});
}

/**
 * Returns the form that turns the authenticator off. If the network requires an authenticator, the person can
 * only move it to a new phone.
 */
function authenticatorOff(c: WebContext, isRequired: boolean): Html {
	const look = isRequired
		? {
				label: "Set up on a new phone",
				confirm: "Remove the present authenticator and set up a new one?",
			}
		: {
				label: "Turn off",
				confirm: "Turn the authenticator off? You then sign in with your password alone.",
			};
	return AUTHENTICATOR_FORM.show(c, {
		action: `${AUTHENTICATOR_PATH}/off`,
		send: html`<div>${ui.button({ ...look, tone: "danger" })}</div>`,
	});
}

function sessionsSection(c: WebContext, sessions: readonly Session[]): Html {
	const ownId = c.get("sessionId");
	const endOthers = ui.buttonForm({
		action: `${ACCOUNT_PATH}/sessions/end-others`,
		label: "Sign out everywhere else",
		isSmall: true,
	});
	return ui.section({
		id: "sessions",
		title: "Where you are signed in",
		hint: `A session ends after ${IDLE_SESSION_DAYS} days without use, and ${MAX_SESSION_DAYS} days after signing in.`,
		actions: sessions.some(({ id }) => id !== ownId) ? endOthers : null,
		body: ui.dataTable<Session>({
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
					cell: (session) => (session.id === ownId ? ui.badge("info", "This one") : endForm(session)),
				},
			],
		}),
	});
}

function endForm({ id, userAgent }: Session): Content {
	return ui.buttonForm({
		action: `${ACCOUNT_PATH}/sessions/end`,
		hidden: { sessionId: id },
		label: "Sign out",
		isSmall: true,
		ariaLabel: `Sign out the session of ${describeBrowser(userAgent)}`,
	});
}

const SESSIONS = `${ACCOUNT_PATH}#sessions`;

export async function endSession(c: WebContext, deps: WebDeps): Promise<Response> {
	const { sessionId } = await readTextFields(c, ["sessionId"]);
	const ended = await revokeSessions(deps, page.actorOf(c), sessionId);
	if (!ended.ok) return page.leadTo(c, SESSIONS, ended.fault.detail, "bad");
	return page.leadTo(c, SESSIONS, "The session has ended.");
}

export async function endOtherSessions(c: WebContext, deps: WebDeps): Promise<Response> {
	const ended = await revokeSessions(deps, page.actorOf(c));
	if (!ended.ok) return page.leadTo(c, SESSIONS, ended.fault.detail, "bad");
	return page.leadTo(c, SESSIONS, "All your other sessions have ended.");
}

/**
 * Patterns that recognise a browser by its User-Agent. Their order matters, because Edge also calls itself
 * Chrome, and Chrome also calls itself Safari.
 */
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

/**
 * Returns a name such as "Firefox on Linux", by which people recognise their sessions. It is only shown and
 * never used for a decision.
 */
export function describeBrowser(userAgent: string): string {
	const browser = BROWSERS.find(([mark]) => mark.test(userAgent))?.[1] ?? "Unknown browser";
	const system = SYSTEMS.find(([mark]) => mark.test(userAgent))?.[1];
	return system === undefined ? browser : `${browser} on ${system}`;
}

function ownDataSection(): Html {
	return ui.section({
		id: "data",
		title: "Your data",
		hint: "Everything that is stored about you, as a JSON file. To be erased, ask the network's staff.",
		body: ui.padded(ui.buttonForm({ action: OWN_DATA_PATH, label: "Download your data" })),
	});
}
