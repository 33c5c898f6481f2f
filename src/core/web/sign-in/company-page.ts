// Handles sign-in with the company's account. /sign-in/company leads to the identity provider, which sends the browser
// back to /sign-in/company/return.

import type { Fault } from "../../domain/fault.ts";
import { finishCompanySignIn, startCompanySignIn } from "../../people/company-sign-in.ts";
import { answerError } from "../error-page.ts";
import { answerPlainPage, handOnCookies, type WebContext, type WebDeps } from "../page.ts";
import * as paths from "../paths.ts";
import { html, linkButton } from "../ui.ts";

export async function leadToProvider(c: WebContext, deps: WebDeps): Promise<Response> {
	const { companySignIn } = deps;
	const next = paths.ownPath(c.req.query("next")) ?? "";
	if (companySignIn === null) return answerError(c, "not_found");
	if (c.get("viewer") !== null) return c.redirect(next || paths.START_PATH, 303);
	const order = { next, redirectUri: redirectUriOf(deps) };
	const started = await startCompanySignIn({ ...deps, companySignIn }, order, c.get("visitor"));
	if (!started.ok) {
		reportUnavailable(deps, companySignIn, started.fault);
		return showRefusal(c, started.fault);
	}
	handOnCookies(c, started.value.setCookies);
	return c.redirect(started.value.url, 303);
}

export async function returnFromProvider(c: WebContext, deps: WebDeps): Promise<Response> {
	const { companySignIn } = deps;
	if (companySignIn === null) return answerError(c, "not_found");
	// Another tab of this browser may have signed in meanwhile.
	if (c.get("viewer") !== null) return c.redirect(paths.START_PATH, 303);
	const returned = { query: new URL(c.req.url).search, redirectUri: redirectUriOf(deps) };
	const finished = await finishCompanySignIn({ ...deps, companySignIn }, returned, c.get("visitor"));
	if (!finished.ok) {
		reportUnavailable(deps, companySignIn, finished.fault);
		return showRefusal(c, finished.fault);
	}
	deps.installation.reportProvider(companySignIn.provider.issuer, true);
	handOnCookies(c, finished.value.setCookies);
	return c.redirect(paths.ownPath(finished.value.next) ?? paths.START_PATH, 303);
}

/**
 * Reports to staff, on the System page, that the provider could not be used. Refusals that the visitor caused are not
 * reported.
 */
function reportUnavailable(
	{ installation }: Pick<WebDeps, "installation">,
	{ provider }: NonNullable<WebDeps["companySignIn"]>,
	{ code }: Fault,
): void {
	if (code === "provider_unavailable") installation.reportProvider(provider.issuer, false);
}

function redirectUriOf({ publicUrl }: Pick<WebDeps, "publicUrl">): string {
	return `${publicUrl}${paths.COMPANY_RETURN_PATH}`;
}

function showRefusal(c: WebContext, { detail, httpStatus }: Fault): Promise<Response> {
	const body = html`<p class="break">${detail}</p>
		<p>${linkButton({ label: "Go to sign-in", href: paths.SIGN_IN_PATH, tone: "primary" })}</p>`;
	return answerPlainPage(c, { title: "You are not signed in", status: httpStatus, body });
}
