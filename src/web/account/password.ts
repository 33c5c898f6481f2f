// Changing the password from the account page.

import type { Hono } from "hono";
import { changePassword } from "../../accounts/passwords.ts";
import { sayWithdrawn } from "../../domain/ended-access.ts";
import type { WebDeps } from "../deps.ts";
import type { WebEnv } from "../env.ts";
import { setFlash } from "../flash.ts";
import { readTextFields } from "../form.ts";
import { handOnCookies } from "../session.ts";
import { makerOf } from "../viewer.ts";
import { showAccount } from "./account-page.ts";

export function mountPassword(site: Hono<WebEnv>, deps: WebDeps): void {
	site.post("/account/password", async (c) => {
		const change = await readTextFields(c, ["currentPassword", "newPassword"]);
		const changed = await changePassword(deps, makerOf(c), change, c.get("visitor"));
		if (!changed.ok) return showAccount(c, deps, { form: "password", fault: changed.fault });
		handOnCookies(c, changed.value.setCookies);
		const withdrawn = sayWithdrawn(changed.value.ended);
		setFlash(c, "good", `Your password is changed.${withdrawn === null ? "" : ` ${withdrawn}.`}`);
		return c.redirect("/account", 303);
	});
}
