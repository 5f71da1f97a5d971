// What is drawn of one note in several places is lit up in all of them.

/** Light up what belongs to one note, wherever it is drawn. */
export function lightUp(places, id) {
  for (const place of places) {
    place.classList.toggle("lighting", id !== null);
    for (const each of place.querySelectorAll("[data-note]")) each.classList.toggle("lit", each.dataset.note === id);
  }
}
