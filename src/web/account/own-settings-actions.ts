// What the forms for one's own settings and address do.

import { askForAddress, saveOwnSettings } from "../../accounts/own-settings.ts";
import { withPasswordLimit } from "../../accounts/password-limits.ts";
import { MAIL_KINDS } from "../../domain/own-settings.ts";
import { findPersonById, type Person } from "../../store/people.ts";
import type { WebDeps } from "../deps.ts";
import type { WebContext } from "../env.ts";
import { setFlash } from "../flash.ts";
import { readTextFields } from "../form.ts";
import { ACCOUNT_PATH } from "../paths.ts";
import { makerOf, viewerOf } from "../viewer.ts";
import { showAccount } from "./account-page.ts";

export async function saveSettings(c: WebContext, deps: WebDeps): Promise<Response> {
	const { name, zone, locale } = await readTextFields(c, ["name", "zone", "locale"]);
	const sent = (await c.req.parseBody({ all: true }))["mails"];
	const ticked: readonly unknown[] = Array.isArray(sent) ? sent : [sent];
	const self = await selfOf(c, deps);
	// Staff have no such boxes: what they had stays.
	const mails = MAIL_KINDS.filter((kind) =>
		self.kind === "staff" ? self[`mails_${kind}`] === 1 : ticked.includes(kind),
	);
	const typed = { name, zone, locale, mails };
	const saved = await saveOwnSettings(deps, makerOf(c), self, typed);
	if (!saved.ok) return showAccount(c, deps, { form: "settings", fault: saved.fault, typed });
	setFlash(c, saved.value ? "good" : "info", saved.value ? "Saved." : "Nothing was changed.");
	return c.redirect(ACCOUNT_PATH, 303);
}

export async function askForEmail(c: WebContext, deps: WebDeps): Promise<Response> {
	const typed = await readTextFields(c, ["email", "currentPassword"]);
	const visitor = c.get("visitor");
	const self = await selfOf(c, deps);
	const asked = await withPasswordLimit(deps, self.email, visitor, () =>
		askForAddress(deps, makerOf(c), self, typed, visitor),
	);
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
