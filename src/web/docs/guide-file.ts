// Where the guide lies: in docs/, where people look for it, and read from there by the page and by the build.

export const GUIDE_FILE = new URL("../../../docs/receiver-guide.md", import.meta.url);
