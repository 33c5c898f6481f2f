// Shows the page /welcome/:token, which every one-time link opens. The page creates the first staff account, lets an
// invited person join, adds a programme to an account, confirms a new email address, or sets a new password.

import type { Fault } from "../../domain/fault.ts";
import { ROLE_SUMMARIES } from "../../domain/roles.ts";
import { type AcceptedSignInLink, acceptSignInLink } from "../../people/accept-sign-in-link.ts";
import { MIN_PASSWORD_LENGTH } from "../../people/auth.ts";
import type { CompanySignIn } from "../../people/deps.ts";
import { sayWhatEnded } from "../../people/end-access.ts";
import { type Credentials, signIn, signOut } from "../../people/sign-in.ts";
import { findSignInLink, type OfferedPlace, type OpenedSignInLink } from "../../people/sign-in-links.ts";
import type { Person } from "../../store/queries/people.ts";
import { endingTokens } from "../account/ending-tokens.ts";
import { titleOf } from "../document.ts";
import { declareForm, readUnticked } from "../form.ts";
import {
	actorOf,
	answerPlainPage,
	handOnCookies,
	leadTo,
	setFlash,
	type WebContext,
	type WebDeps,
} from "../page.ts";
import * as paths from "../paths.ts";
import { type Content, html, linkButton } from "../ui.ts";
import { wideButton } from "./sign-in-page.ts";

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

export async function showWelcome(c: WebContext, deps: WebDeps): Promise<Response> {
	const token = c.req.param("token") ?? "";
	const found = await findSignInLink(deps, token);
	if (!found.ok) return showDeadLink(c, found.fault);
	const parts = partsOf(found.value, titleOf(c.get("network")), deps.companySignIn);
	const { title, lead, asks, email, name, button, passwordLabel: label = "Password" } = parts;
	// Anybody who has the link can set the password, so they may also see which API tokens end with the old one.
	const tokens = found.value.kind === "password" ? await endingTokens(c, deps, found.value.person.id) : null;
	const form = FORM.show(c, {
		action: paths.welcomePath(encodeURIComponent(token)),
		values: { name },
		shown: asks,
		looks: { password: { label } },
		send: wideButton(button),
		rows: ({ fields }) => [email === undefined ? null : knownEmail(email), fields(), tokens],
	});
	return answerPlainPage(c, { title, body: html`<p>${lead}</p>${form}` });
}

export async function acceptWelcome(c: WebContext, deps: WebDeps): Promise<Response> {
	const token = c.req.param("token") ?? "";
	const typed = await FORM.read(c);
	const { address } = c.get("visitor");
	const keptTokens = await readUnticked(c);
	const accepted = await acceptSignInLink(deps, token, { ...typed, address, keptTokens });
	if (accepted.ok) return redirectAfterLink(c, deps, accepted.value, typed.password);
	return FORM.refuse(c, accepted, () => showWelcome(c, deps));
}

async function redirectAfterLink(
	c: WebContext,
	deps: WebDeps,
	accepted: AcceptedSignInLink,
	password: string,
): Promise<Response> {
	const { purpose, person, place, hasNewPassword, ended } = accepted;
	// A link that sets no password signs nobody in. If the person is not signed in yet, they are sent to the
	// sign-in page.
	const isTheirs = c.get("viewer")?.personId === person.id;
	if (purpose === "address_mail") {
		const path = isTheirs ? paths.ACCOUNT_PATH : paths.SIGN_IN_PATH;
		return leadTo(c, path, `Your email address is now ${person.email}.`);
	}
	const path = startOf(accepted);
	if (hasNewPassword) {
		const withdrawn = ended === null ? null : sayWhatEnded(ended);
		const text = `Your password is ${ended === null ? "set" : "changed"}.${withdrawn === null ? "" : ` ${withdrawn}.`}`;
		if (ended !== null) setFlash(c, "good", text);
		const chosenWith = accepted.isFromOperator ? "operator's link" : "link";
		const credentials = { email: person.email, password, chosenWith } as const;
		return signInWithNewPassword(c, deps, credentials, text, path);
	}
	const text =
		place?.kind === "partner"
			? `You now sign in for ${place.partner.name}.`
			: `You now have access to ${place?.programme.name ?? "this programme"}. Your role: ${place?.role ?? null}.`;
	return leadTo(c, isTheirs ? path : paths.withNext(paths.SIGN_IN_PATH, path), text);
}

/** Returns the address of the person's first page. */
function startOf({ purpose, place }: AcceptedSignInLink): string {
	if (place === null) return purpose === "first_staff" ? paths.NETWORK_PATH : paths.PROGRAMMES_PATH;
	if (place.kind === "partner") return paths.earningsPath(place.partner.public_id);
	// An owner starts on the overview, which offers to invite a developer. Everybody else starts on the
	// integration page.
	const pathOf = place.role === "owner" ? paths.overviewPath : paths.integrationPath;
	return pathOf(place.programme.public_id);
}

/**
 * Signs the person in with the password that they have just chosen. If they have an authenticator, its code is still
 * required. `text` is a message about what has happened, and is shown even if the sign-in fails.
 */
async function signInWithNewPassword(
	c: WebContext,
	deps: WebDeps,
	newcomer: Credentials,
	text: string,
	path: string,
): Promise<Response> {
	const visitor = c.get("visitor");
	if (c.get("viewer") !== null) await signOut(deps, actorOf(c), visitor);
	const signedIn = await signIn(deps, newcomer, visitor);
	if (!signedIn.ok) {
		const why = `${text} You are not signed in yet. ${signedIn.fault.detail}`;
		// Staff who must use the company's account have done nothing wrong.
		const tone = signedIn.fault.code === "company_account_required" ? "info" : "bad";
		return leadTo(c, paths.SIGN_IN_PATH, why, tone);
	}
	handOnCookies(c, signedIn.value.setCookies);
	if (signedIn.value.next === "code") return c.redirect(paths.CODE_PATH, 303);
	return c.redirect(path, 303);
}

/** Texts and fields of the page for one kind of link. */
interface Parts {
	title: string;
	lead: Content;
	asks: readonly ("email" | "name" | "password")[];
	/** Email address that the page shows. Left out if the page asks for the address. */
	email?: string;
	/** Stored name of the person. */
	name?: string;
	passwordLabel?: string;
	button: string;
}

function partsOf(opened: OpenedSignInLink, network: string, companySignIn: CompanySignIn | null): Parts {
	const title = `Welcome to ${network}`;
	switch (opened.kind) {
		case "first":
			return {
				title,
				lead: "This creates the first staff account.",
				asks: ["email", "name", "password"],
				button: "Continue",
			};
		case "join":
			return {
				title,
				lead:
					opened.partnerName === null
						? html`${sayInviter(opened.inviter)} ${sayWhatPasswordIsFor(opened.person, companySignIn)}`
						: html`You are invited as the partner <strong class="break">${opened.partnerName}</strong>. Here you create links, and see your sales and earnings. Choose a password to sign in.`,
				asks: ["name", "password"],
				email: opened.person.email,
				name: opened.person.name,
				button: "Continue",
			};
		case "offer":
			return {
				...sayOffered(opened.place, opened.inviter, opened.hasAccount),
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

function sayOffered(
	place: OfferedPlace,
	inviter: string | null,
	hasAccount: boolean,
): Pick<Parts, "title" | "lead"> {
	const next = hasAccount
		? " It is added to your account when you accept."
		: " Choose a password to sign in.";
	if (place.kind === "partner") {
		return {
			title: "Join a partner",
			lead: html`You are invited to join the partner <strong class="break">${place.partner.name}</strong>. Here you create links, and see its sales and earnings.${sayInviter(inviter)}${next}`,
		};
	}
	const { programme, role } = place;
	return {
		title: role === "owner" ? "Manage a programme" : "Join a programme",
		lead: html`You are invited to <strong class="break">${programme.name}</strong> as <strong>${role}</strong>. This role ${ROLE_SUMMARIES[role]}.${sayInviter(inviter)}${next}`,
	};
}

/** Names the colleague who invites, because the reader may know the colleague but not the programme or the network. */
function sayInviter(inviter: string | null): Content {
	if (inviter === null) return null;
	return html` The invitation comes from <strong class="break">${inviter}</strong>.`;
}

function sayWhatPasswordIsFor({ kind }: Person, companySignIn: CompanySignIn | null): string {
	return kind === "staff" && companySignIn?.isRequiredForStaff === true
		? "Choose a password. It confirms changes to your account. You sign in with the company's account."
		: "Choose a password to sign in.";
}

/** Shows the email address, and passes it to password managers in a hidden field. */
function knownEmail(email: string): Content {
	return html`<div class="field"><p class="small soft">Email</p><p class="break"><strong>${email}</strong></p>
		<input type="text" name="username" value="${email}" autocomplete="username" hidden></div>`;
}

/** Says that the link is not valid. The page cannot say what the link was for, because its row is gone. */
function showDeadLink(c: WebContext, { detail, httpStatus }: Fault): Promise<Response> {
	const body = html`<p>${detail}</p>
		<p>${linkButton({ label: "Go to sign-in", href: paths.SIGN_IN_PATH, tone: "primary" })}</p>
		<p class="small">Forgot your password? <a href="${paths.FORGOT_PASSWORD_PATH}">Ask for a new link</a></p>`;
	return answerPlainPage(c, { title: "This link is no longer valid", status: httpStatus, body });
}
