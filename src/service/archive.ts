// The folder for archived records, as the settings name it: tried before it is relied on.

import type { ArchiveSettings } from "../chores/archive-old.ts";
import type { Config } from "../config.ts";
import { openArchiveFolder, tryArchiveFolder } from "../outside/archive-folder.ts";
import { readErrorCode } from "../outside/error-code.ts";
import { StartError } from "./workplace.ts";

/** Null where nothing is archived. */
export function openArchive({ archiving: { folder, ...days } }: Config): ArchiveSettings | null {
	if (folder === null) return null;
	try {
		return { archive: openArchiveFolder(folder), ...days };
	} catch (error) {
		throw new StartError(describeFailure(folder, error));
	}
}

/** A sentence on what is wrong; null when the folder can be used. Leaves nothing behind. */
export function findArchiveProblem(folder: string): string | null {
	try {
		tryArchiveFolder(folder);
		return null;
	} catch (error) {
		return describeFailure(folder, error);
	}
}

const REASONS: Readonly<Record<string, string>> = {
	EEXIST: "it is a file or a link that leads nowhere",
	ENOTDIR: "a part of the path is a file",
	EACCES: "this account may not write there",
	EPERM: "this account may not write there",
	EROFS: "the file system is read-only",
	ENOSPC: "the disk is full",
};

function describeFailure(folder: string, error: unknown): string {
	const code = readErrorCode(error);
	const reason = REASONS[code] ?? "nothing can be written there";
	return `RINGBACK_ARCHIVE_FOLDER (${folder}) cannot be used: ${reason} (${code}). Name a folder that this account can write to.`;
}
