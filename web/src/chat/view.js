export class ChatView {}
/** @param {HTMLElement} element @param {any} api @returns {ChatView} */
export function mount(element, api) {
  void element, api;
  return new ChatView();
}
