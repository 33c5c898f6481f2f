// /welcome/:token: where every one-time link leads. Makes the first staff account, lets an invited person in, adds a
// programme to an account, or takes a new password.

import type { Fault } from "../../domain/fault.ts";
import { ROLE_SUMMARIES } from "../../domain/roles.ts";
import { type AcceptedLink, acceptLink } from "../../people/accept-link.ts";
import { MIN_PASSWORD_LENGTH } from "../../people/auth.ts";
import { type EndedAccess, sayWhatEnded } from "../../people/end-access.ts";
import { findLink, type OpenedLink } from "../../people/links.ts";
import { signIn, signOut } from "../../people/sign-in.ts";
import type { Person } from "../../store/queries/people.ts";
import { listProgrammesOf } from "../../store/queries/programme-people.ts";
import { titleOf } from "../document.ts";
import { declareForm } from "../form.ts";
import { answerPlainPage, csrfField, setFlash, type WebContext, type WebDeps } from "../page.ts";
import {
	ACCOUNT_PATH,
	CODE_PATH,
	FORGOT_PASSWORD_PATH,
	integrationPath,
	NETWORK_PATH,
	PROGRAMMES_PATH,
	SIGN_IN_PATH,
	welcomePath,
	withNext,
} from "../paths.ts";
import { handOnCookies } from "../session.ts";
import { button, type Content, html, linkButton, postForm } from "../ui.ts";

const FORM = declareForm({
	email: { label: "Email", type: "email", autocomplete: "username", isRequired: true },
	name: { label: "Your name", autocomplete: "name", isRequired: true },
	password: {
		label: "Password",
		type: "password",
		autocomplete: "new-password",
		hint: `At least ${MIN_PASSWORD_LENGTH} characters.`,
		isRequired: true,
	},
});
type Asked = "email" | "name" | "password";

export async function showWelcome(c: WebContext, deps: WebDeps): Promise<Response> {
	const token = c.req.param("token") ?? "";
	const found = await findLink(deps, token);
	return found.ok ? showLinkForm(c, { token, opened: found.value }) : showDeadLink(c, found.fault);
}

export async function acceptWelcome(c: WebContext, deps: WebDeps): Promise<Response> {
	const token = c.req.param("token") ?? "";
	const { email, name, password } = await FORM.read(c);
	const { address } = c.get("visitor");
	const accepted = await acceptLink(deps, token, { email, name, password, address });
	if (accepted.ok) return goOn(c, deps, accepted.value, password);
	const found = await findLink(deps, token);
	if (!found.ok) return showDeadLink(c, found.fault);
	return showLinkForm(c, { token, opened: found.value, email, name, fault: accepted.fault });
}

async function goOn(
	c: WebContext,
	deps: WebDeps,
	{ purpose, person, programme, role, hasNewPassword, ended }: AcceptedLink,
	password: string,
): Promise<Response> {
	if (purpose === "address_mail") return goToAccount(c, person);
	const isFirst = purpose === "first_staff";
	const path =
		programme === null ? (isFirst ? NETWORK_PATH : undefined) : integrationPath(programme.public_id);
	if (hasNewPassword) {
		const said = sayNewPassword(ended);
		if (ended !== null) setFlash(c, "good", said);
		return letIn(c, deps, { person, password, said, path });
	}
	setFlash(c, "good", `You now have access to ${programme?.name ?? "this programme"}. Your role: ${role}.`);
	// The link shows that the mailbox is theirs, and lets nobody in: that is left to their password.
	const isTheirs = c.get("viewer")?.personId === person.id;
	const next = path ?? PROGRAMMES_PATH;
	return c.redirect(isTheirs ? next : withNext(SIGN_IN_PATH, next), 303);
}

/** The link lets nobody in: whoever is not signed in here does that with the new address. */
function goToAccount(c: WebContext, { id, email }: Person): Response {
	setFlash(c, "good", `Your email address is now ${email}.`);
	const isTheirs = c.get("viewer")?.personId === id;
	return c.redirect(isTheirs ? ACCOUNT_PATH : SIGN_IN_PATH, 303);
}

function sayNewPassword(ended: EndedAccess | null): string {
	if (ended === null) return "Your password is set.";
	const said = sayWhatEnded(ended);
	return `Your password is changed.${said === null ? "" : ` ${said}.`}`;
}

interface Newcomer {
	person: Person;
	password: string;
	/** What has happened, also when they are not let in. */
	said: string;
	/** Where they begin; by default where their role has its work. */
	path: string | undefined;
}

/** With the password they have just chosen; their authenticator, if they have one, is asked for all the same. */
async function letIn(
	c: WebContext,
	deps: WebDeps,
	{ person, password, said, path }: Newcomer,
): Promise<Response> {
	const visitor = c.get("visitor");
	const before = c.get("viewer");
	if (before !== null) await signOut(deps, before.personId, visitor);
	const signedIn = await signIn(deps, { email: person.email, password }, visitor);
	if (!signedIn.ok) {
		setFlash(c, "bad", `${said} You are not signed in yet. ${signedIn.fault.detail}`);
		return c.redirect(SIGN_IN_PATH, 303);
	}
	handOnCookies(c, signedIn.value.setCookies);
	if (signedIn.value.next === "code") return c.redirect(CODE_PATH, 303);
	return c.redirect(path ?? (await firstPageOf(deps, person)), 303);
}

/** A shop's people begin where the work is: at the integration of their programme. */
async function firstPageOf({ store }: WebDeps, { id, kind }: Person): Promise<string> {
	if (kind === "staff") return PROGRAMMES_PATH;
	const [programme] = await listProgrammesOf(store.db, id, 1);
	return programme === undefined ? PROGRAMMES_PATH : integrationPath(programme.publicId);
}

// What the page behind a one-time link asks for, by what the link is for.

interface LinkForm {
	token: string;
	opened: OpenedLink;
	email?: string;
	name?: string;
	fault?: Fault;
}

interface Parts {
	title: string;
	lead: Content;
	asks: readonly Asked[];
	/** Shown where it is not asked for. */
	email?: string;
	/** As we know them already. */
	name?: string;
	passwordLabel?: string;
	button: string;
}

function showLinkForm(c: WebContext, form: LinkForm): Promise<Response> {
	const { token, opened, fault } = form;
	const parts = partsOf(opened, titleOf(c.get("network")));
	const { fields, above } = FORM.fill({ email: form.email, name: form.name || parts.name }, fault, {
		shown: parts.asks,
		looks: parts.passwordLabel === undefined ? {} : { password: { label: parts.passwordLabel } },
	});
	const body = html`${parts.email === undefined ? null : knownEmail(parts.email)}${fields()}
		${button({ label: parts.button, tone: "primary", isWide: true })}`;
	return answerPlainPage(c, {
		title: parts.title,
		status: fault?.httpStatus ?? 200,
		body: html`<p>${parts.lead}</p>
		${above}
		${postForm({ action: welcomePath(encodeURIComponent(token)), csrf: csrfField(c), body })}`,
	});
}

function partsOf(opened: OpenedLink, network: string): Parts {
	const title = `Welcome to ${network}`;
	switch (opened.kind) {
		case "first":
			return {
				title,
				lead: "This makes the first staff account.",
				asks: ["email", "name", "password"],
				button: "Continue",
			};
		case "join":
			return {
				title,
				lead: "Choose a password to sign in with.",
				asks: ["name", "password"],
				email: opened.person.email,
				name: opened.person.name,
				button: "Continue",
			};
		case "programme":
			return {
				title: opened.role === "owner" ? "Manage a programme" : "Join a programme",
				lead: html`You are invited to <strong class="break">${opened.programme.name}</strong> as <strong>${opened.role}</strong>. This role ${ROLE_SUMMARIES[opened.role]}.${
					opened.hasAccount
						? " It is added to your account when you accept."
						: " Choose a password to sign in with."
				}`,
				asks: opened.hasAccount ? [] : ["name", "password"],
				email: opened.email,
				name: opened.person?.name ?? "",
				button: "Accept",
			};
		case "address":
			return {
				title: "Confirm your email address",
				lead: html`From now on you sign in with this address instead of <strong class="break">${opened.person.email}</strong>, and mails go here.`,
				asks: [],
				email: opened.email,
				button: "Confirm",
			};
		case "password":
			return {
				title: "Choose a new password",
				lead: "It replaces the one you had. You are signed out everywhere else, and links that you made or that were made for you stop working.",
				asks: ["password"],
				email: opened.person.email,
				passwordLabel: "New password",
				button: "Change password",
			};
		default:
			return opened satisfies never;
	}
}

/** Shown, not asked; the hidden copy is for password managers. */
function knownEmail(email: string): Content {
	return html`<div class="field"><p class="small soft">Email</p><p class="break"><strong>${email}</strong></p>
		<input type="text" name="username" value="${email}" autocomplete="username" hidden></div>`;
}

/** What it was for is not known any more. */
function showDeadLink(c: WebContext, { detail, httpStatus }: Fault): Promise<Response> {
	const body = html`<p>${detail}</p>
		<p>${linkButton({ label: "Go to sign-in", href: SIGN_IN_PATH, tone: "primary" })}</p>
		<p class="small">Forgot your password? <a href="${FORGOT_PASSWORD_PATH}">Ask for a new link</a></p>`;
	return answerPlainPage(c, { title: "This link is no longer valid", status: httpStatus, body });
}
