// Programmes as such: the list, making one, its settings.

import { CREATE_PROGRAMME_PATH, PROGRAMMES_PATH, settingsPath } from "../paths.ts";
import type { Route } from "../routes.ts";
import { createProgramme, showCreateForm } from "./create-page.ts";
import { showProgrammes } from "./programme-list-page.ts";
import { saveSettings, showSettings } from "./settings-page.ts";

const SETTINGS = settingsPath(":programmeId");

export const PROGRAMME_ROUTES: readonly Route[] = [
	{ method: "GET", path: PROGRAMMES_PATH, access: "signed-in", answer: showProgrammes },
	{ method: "GET", path: CREATE_PROGRAMME_PATH, access: "staff", answer: showCreateForm },
	{ method: "POST", path: CREATE_PROGRAMME_PATH, access: "staff", answer: createProgramme },
	{ method: "GET", path: SETTINGS, access: "programme", answer: showSettings },
	{ method: "POST", path: SETTINGS, access: "programme-manage", answer: saveSettings },
];
