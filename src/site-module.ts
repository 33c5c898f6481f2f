// What a module adds to a process that answers people and shops. module.ts has the rest.

import type { TokenRoute } from "./api/token-api/route.ts";
import type { MenuAdditions } from "./web/menu.ts";
import type { Route } from "./web/routes.ts";

export interface SiteModule {
	/** Pages and forms. */
	routes?: readonly Route[];
	menus?: MenuAdditions;
	/** Calls of the APIs of the network and of partners. */
	calls?: readonly TokenRoute[];
}
