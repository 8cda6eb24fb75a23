import { useEffect, useMemo, useState } from "react";
import { fetchPictures } from "./api";

const SIZES = { small: 120, medium: 240, large: 480 };

export function Gallery({ album, size = "medium", onPick }) {
  const [pictures, setPictures] = useState([]);
  const [error, setError] = useState(null);

  useEffect(() => {
    let stale = false;
    fetchPictures(album)
      .then((list) => {
        if (!stale) setPictures(list);
      })
      .catch((reason) => {
        if (!stale) setError(`Couldn't load "${album}": ${reason.message}`);
      });
    return () => {
      stale = true;
    };
  }, [album]);

  const shown = useMemo(
    () => pictures.filter((picture) => !picture.hidden && picture.width >= SIZES[size]),
    [pictures, size],
  );

  if (error) {
    return <p className="error">{error}</p>;
  }
  return (
    <ul className="gallery">
      {shown.map((picture) => (
        <li key={picture.id}>
          <button type="button" onClick={() => onPick?.(picture)}>
            <img src={picture.url} alt={picture.title ?? ""} width={SIZES[size]} />
          </button>
        </li>
      ))}
    </ul>
  );
}
