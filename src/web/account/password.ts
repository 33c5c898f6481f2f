// Changing the password from the account page.

import type { Hono } from "hono";
import { makeDeviceCookie } from "../../accounts/device-cookie.ts";
import { makeConfirmationCookie } from "../../accounts/password-confirmation.ts";
import { withPasswordTurn } from "../../accounts/password-turns.ts";
import { changePassword } from "../../accounts/passwords.ts";
import { sayWithdrawn } from "../../domain/ended-access.ts";
import type { WebDeps } from "../deps.ts";
import type { WebEnv } from "../env.ts";
import { setFlash } from "../flash.ts";
import { readTextFields } from "../form.ts";
import { handOnCookies } from "../session.ts";
import { makerOf, viewerOf } from "../viewer.ts";
import { showAccount } from "./account-page.ts";
import { signInOf } from "./enter-password-page.ts";

export function mountPassword(site: Hono<WebEnv>, deps: WebDeps): void {
	site.post("/account/password", async (c) => {
		const change = await readTextFields(c, ["currentPassword", "newPassword"]);
		const { email } = viewerOf(c);
		const visitor = c.get("visitor");
		const changed = await withPasswordTurn(deps, email, visitor, () =>
			changePassword(deps, makerOf(c), change, visitor),
		);
		if (!changed.ok) return showAccount(c, deps, { form: "password", fault: changed.fault });
		handOnCookies(c, changed.value.setCookies);
		// The new password ended both of them; this browser is the person's own, and both passwords were given here.
		handOnCookies(c, [await makeDeviceCookie(deps, email), await makeConfirmationCookie(deps, signInOf(c))]);
		const withdrawn = sayWithdrawn(changed.value.ended);
		setFlash(c, "good", `Your password is changed.${withdrawn === null ? "" : ` ${withdrawn}.`}`);
		return c.redirect("/account", 303);
	});
}
