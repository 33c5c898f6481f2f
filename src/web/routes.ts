// What a route is. The table in site.ts has every one of them, and puts before each answer the guards
// that its `access` asks for. No page exists outside of the table, so none is without its guards.

import type { PageDeps, WebContext } from "./page.ts";
import type { FileBounds } from "./receive-file.ts";

/**
 * Who may open it. Everybody else is led to sign in, or answered as if it were not there; people of the programme who
 * lack the right are told so.
 */
export type Access =
	| "anyone"
	/** Signed in, with an authenticator where the network asks its staff for one: so are all that follow. */
	| "signed-in"
	/** The people of the programme in the address, and staff; with the right it names: see domain/roles. */
	| "programme"
	| "programme-integrate"
	| "programme-decide"
	| "programme-manage"
	/** The people of the partner in the address, and staff; what is staff's alone to do. */
	| "partner"
	| "partner-manage"
	| "staff"
	/** Signed in, also staff who must set up their authenticator first. */
	| "account-authenticator";

export type Answer = (c: WebContext, deps: PageDeps) => Response | Promise<Response>;

export interface Route {
	/** A form is sent by POST, and must come from our own pages; asked for by GET, it leads to the nearest page above it. */
	method: "GET" | "POST";
	/** As Hono reads it, with ":programmeId" for what changes. */
	path: string;
	access: Access;
	answer: Answer;
	/** A form that may bring a file, within these bounds: see receive-file.ts. */
	takesFile?: FileBounds | undefined;
	/** A form whose answer waits for another machine, such as a name server: it takes its turn with others of its kind. */
	waitsOutside?: boolean;
}

export function page(path: string, access: Access, answer: Answer): Route {
	return { method: "GET", path, access, answer };
}

export function form(path: string, access: Access, answer: Answer, takesFile?: FileBounds): Route {
	return { method: "POST", path, access, answer, takesFile };
}
